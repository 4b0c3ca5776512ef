#include "tools/bench/bench.h"

#include <algorithm>
#include <map>
#include <utility>

#include "gpu/transfer.h"
#include "tools/bench/workload.h"

namespace headlight::bench {
namespace {

bool is_whole_pass(Operation operation) { return operation == Operation::Forward || operation == Operation::HeadMerge; }

/// Estimates a case's time from the longest measured case of its operation.
class Forecast {
 public:
  double expected_ms(Operation operation, const Size& size) const {
    const auto known = ms_per_effort_.find({operation, size.d_model});
    return known == ms_per_effort_.end() ? 0.0 : known->second * effort(operation, size);
  }
  void learn(const Result& result) {
    ms_per_effort_[{result.operation, result.size.d_model}] = result.timing.wall_ms / effort(result.operation, result.size);
  }

 private:
  std::map<std::pair<Operation, std::uint32_t>, double> ms_per_effort_;
};

class Bench {
 public:
  Bench(ops::Kernels& kernels, const std::filesystem::path& tuning_file, const Plan& plan, const Listener& listener)
      : kernels_(kernels), tuning_file_(tuning_file), plan_(plan), listener_(listener) {}

  void run(const Size& size) {
    std::optional<Workload> workload;  // made when a case needs it
    for (const Operation operation : plan_.operations) {
      const double expected_ms = forecast_.expected_ms(operation, size) * (plan_.rounds.fewest() + 1);
      if (plan_.longest_ms > 0.0 && expected_ms > plan_.longest_ms) {
        listener_.skipped({operation, size, expected_ms});
        continue;
      }
      if (!workload) workload.emplace(kernels_, size);
      const Result result = is_whole_pass(operation) ? whole_pass(operation, *workload) : part(operation, *workload);
      forecast_.learn(result);
      listener_.measured(result);
    }
  }

 private:
  Result part(Operation operation, const Workload& workload) const {
    const auto record = [&](gpu::Stream& stream) { workload.record(stream, operation); };
    const Timing timing = measure(plan_.rounds, [&] { return run_once(kernels_.context(), record); });
    return {operation, workload.size(), timing, workload.variant(operation), {}, {}};
  }

  Result whole_pass(Operation operation, const Workload& workload) const {
    gpu::finish_writes(kernels_.context());  // what they take is no part of the pass
    const std::size_t before = kernels_.context().allocated_bytes();
    inference::Session session(kernels_.context(), tuning_file_);
    const WholePass pass(workload.size());
    std::shared_ptr<const inference::Run> last;
    if (operation == Operation::HeadMerge) {
      // Not asserted but counted: what the pass dispatches beyond its other parts.
      std::uint32_t rest = pass.run(session, last).dispatches - counts_of_pass(kernels_.context());
      for (const Operation other : {Operation::QkvGemm, Operation::Attention, Operation::OutputProjection}) {
        rest -= std::min(rest, workload.dispatches(other));
      }
      return {operation, workload.size(), {.dispatches = rest}, workload.variant(operation), {}, {}};
    }
    std::size_t device_bytes = 0;
    const Timing timing = measure(plan_.rounds, [&] {
      const inference::RunTiming cost = pass.run(session, last);
      device_bytes = cost.device_bytes - before;
      return Timing{.wall_ms = cost.wall_ms, .gpu_ms = cost.gpu_ms, .dispatches = cost.dispatches};
    });
    return {
        operation, workload.size(), timing, workload.variant(operation), device_bytes, device_bytes - pass.weight_bytes()};
  }

  ops::Kernels& kernels_;
  const std::filesystem::path& tuning_file_;
  const Plan& plan_;
  const Listener& listener_;
  Forecast forecast_;
};

}  // namespace

void run(ops::Kernels& kernels, const std::filesystem::path& tuning_file, const Plan& plan, const Listener& listener) {
  Bench bench(kernels, tuning_file, plan, listener);
  for (const Size& size : plan.sizes) bench.run(size);
}

}  // namespace headlight::bench
