#include "tools/bench/check.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "tools/bench/stopwatch.h"
#include "tools/bench/workload.h"

namespace headlight::bench {
namespace {

// The goal is 25; a busy machine or another CPU must not fail the check, a kernel with a broken structure must.
constexpr double kMinGain = 15.0;
// On GPUs the naive kernel isn't slower by an order of magnitude; the chosen one must only not be slower.
constexpr double kMinGainOnGpu = 0.8;

double gpu_or_wall_ms(const Timing& timing) { return timing.gpu_ms > 0.0 ? timing.gpu_ms : timing.wall_ms; }

Verdict compare_with_naive(ops::Kernels& kernels) {
  constexpr int kAttempts = 5, kTunedRuns = 5, kNaiveRuns = 2;
  const bool is_cpu = kernels.context().device().is_cpu;
  const double least = is_cpu ? kMinGain : kMinGainOnGpu;
  const Workload workload(kernels, {.n = 64, .d_model = 768, .heads = 12});
  const auto run = [&](Operation operation) {
    return gpu_or_wall_ms(run_once(kernels.context(), [&](gpu::Stream& stream) { workload.record(stream, operation); }));
  };
  run(Operation::QkvGemm);
  run(Operation::LinearNaive);
  double best = 0.0;
  for (int attempt = 0; attempt < kAttempts && best < least; ++attempt) {
    std::vector<double> tuned, naive;
    for (int i = 0; i < kNaiveRuns; ++i) {
      naive.push_back(run(Operation::LinearNaive));
      for (int j = 0; j < kTunedRuns; ++j) tuned.push_back(run(Operation::QkvGemm));
    }
    best = std::max(best, median(naive) / median(tuned));
  }
  return {fmt::format("QKV projection, n 64, d_model 768: {} is {:.1f} times as fast as naive, at least {} wanted",
                      workload.variant(Operation::QkvGemm), best, least),
          best >= least, true};
}

Verdict compare_numbers(ops::Kernels& kernels, const std::filesystem::path& tuning_file) {
  constexpr double kMaxError = 1e-4;  // observed 2.1e-6 on two processor cores
  inference::Session session(kernels.context(), tuning_file);
  const double error = WholePass({.n = 80, .d_model = 192, .heads = 3}).largest_error(session);
  return {
      fmt::format("the largest error of a layer's outputs, of size 1, is {:.1e}, at most {:.0e} wanted", error, kMaxError),
      error <= kMaxError};
}

Verdict count_dispatches(ops::Kernels& kernels, const std::filesystem::path& tuning_file) {
  const Size size{.n = 64, .d_model = 768, .heads = 12};
  const Workload workload(kernels, size);
  inference::Session session(kernels.context(), tuning_file);
  const WholePass whole(size);
  std::shared_ptr<const inference::Run> last;
  whole.run(session, last);  // uploads the weights
  // A submission that pauses for functions of the host is one, as it is without them.
  const auto count = [&] { return kernels.context().submissions() - kernels.context().host_waits(); };
  const std::uint64_t before = count();
  const std::uint32_t pass = whole.run(session, last).dispatches;
  const std::uint64_t submissions = count() - before;
  std::uint32_t parts = counts_of_pass(kernels.context());
  for (const Operation part : {Operation::QkvGemm, Operation::Attention, Operation::OutputProjection}) {
    parts += workload.dispatches(part);
  }
  return {fmt::format("a pass takes {} submission of {} dispatches, its projections, attention and the count of what isn't "
                      "a number {}; 1 and "
                      "no more wanted",
                      submissions, pass, parts),
          submissions == 1 && pass == parts};
}

Verdict compare_growth(ops::Kernels& kernels, const std::filesystem::path& tuning_file) {
  constexpr double kMaxGrowth = 2.5;  // from one doubling to the next: 2 when linear, 4 when quadratic
  std::array<double, 3> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const Size size{.n = 512u << i, .d_model = 512, .heads = 8};
    const std::size_t before = kernels.context().allocated_bytes();
    inference::Session session(kernels.context(), tuning_file);
    std::shared_ptr<const inference::Run> last;
    bytes.at(i) = static_cast<double>(WholePass(size).run(session, last).device_bytes - before);
  }
  const double growth = (bytes[2] - bytes[1]) / (bytes[1] - bytes[0]);
  return {
      fmt::format("device memory of 512, 1024 and 2048 tokens: {:.1f}, {:.1f}, {:.1f} MiB; growth {:.2f}, at most {} wanted",
                  bytes[0] / (1 << 20), bytes[1] / (1 << 20), bytes[2] / (1 << 20), growth, kMaxGrowth),
      growth <= kMaxGrowth};
}

}  // namespace

CheckResult check(ops::Kernels& kernels, const std::filesystem::path& tuning_file,
                  const std::function<void(const Verdict&)>& tell) {
  CheckResult result = CheckResult::Holds;
  const auto judge = [&](const Verdict& verdict) {
    tell(verdict);
    if (!verdict.holds) result = std::max(result, verdict.is_of_speed ? CheckResult::Slow : CheckResult::Wrong);
  };
  judge(compare_numbers(kernels, tuning_file));
  judge(compare_with_naive(kernels));
  judge(count_dispatches(kernels, tuning_file));
  judge(compare_growth(kernels, tuning_file));
  return result;
}

}  // namespace headlight::bench
