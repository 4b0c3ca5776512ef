#include "inference/run_findings.h"

#include <mutex>

#include <fmt/format.h>

namespace headlight::inference {
namespace {

struct NotedRun {
  std::mutex mutex;
  std::string warning;
};

NotedRun& noted_run() {
  static NotedRun instance;
  return instance;
}

constexpr const char* kWhatFollows =
    "numbers grew beyond 3.4e38, the largest of float32: check weights, and gains, biases or formulas that were added; what "
    "follows from them isn't a number";

}  // namespace

std::string run_warning(const RunFindings& findings) {
  if (findings.rows > 0) {
    return fmt::format("{} of {} rows of attention have scores that aren't finite, the first in {} layer {}; {}",
                       findings.rows, findings.all_rows, to_string(findings.first_block.kind),
                       findings.first_block.layer.value, kWhatFollows);
  }
  if (findings.last_state == 0) return {};
  return fmt::format("{} numbers of the last layer's output are NaN or infinite; {}", findings.last_state, kWhatFollows);
}

void note_run_warning(const std::string& warning) {
  const std::scoped_lock lock(noted_run().mutex);
  if (noted_run().warning.empty()) noted_run().warning = warning;
}

std::string noted_run_warning() {
  const std::scoped_lock lock(noted_run().mutex);
  return noted_run().warning;
}

void forget_run_warning() {
  const std::scoped_lock lock(noted_run().mutex);
  noted_run().warning.clear();
}

}  // namespace headlight::inference
