#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gpu/context.h"
#include "ops/kernels.h"
#include "tools/bench/operation.h"
#include "tools/bench/stopwatch.h"

namespace headlight::bench {

/// The cases to measure, and the effort.
struct Plan {
  std::vector<Operation> operations;
  std::vector<Size> sizes;  ///< of one d_model by growing n, so that the time of long cases can be estimated
  Rounds rounds;
  double longest_ms = 20'000.0;  ///< cases that would take longer are skipped; 0: none is
};

/// One measured case.
struct Result {
  Operation operation = Operation::Forward;
  Size size;
  Timing timing;
  std::string variant;
  std::optional<std::size_t> device_bytes;  ///< Forward: weights and all other device memory of the run
  std::optional<std::size_t> state_bytes;   ///< … without the weights
};

/// A skipped case, and its estimated time.
struct Skipped {
  Operation operation = Operation::Forward;
  Size size;
  double expected_ms = 0.0;
};

/// Callbacks for each case as soon as its result is known.
struct Listener {
  std::function<void(const Result&)> measured;
  std::function<void(const Skipped&)> skipped;
};

/// Measures the plan's cases one after the other. `kernels` are tuned already, and `tuning_file` contains the device.
void run(ops::Kernels& kernels, const std::filesystem::path& tuning_file, const Plan& plan, const Listener& listener);

}  // namespace headlight::bench
