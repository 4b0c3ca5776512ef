#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "gpu/stream.h"

namespace headlight::bench {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start);

/// Median costs of one call.
struct Timing {
  double wall_ms = 0.0;  ///< recording, submission and waiting for the fence
  double gpu_ms = 0.0;   ///< by timestamps; 0 where the device has none
  std::uint32_t dispatches = 0;
};

/// How often a call is measured.
struct Rounds {
  std::uint32_t count = 0;  ///< 0: at least kFewest, and more while the budget lasts
  double budget_ms = 400.0;

  static constexpr std::uint32_t kFewest = 3;
  static constexpr std::uint32_t kMax = 50;
  std::uint32_t fewest() const { return count > 0 ? count : kFewest; }
};

double median(std::vector<double> values);

/// Calls once to warm up (a driver compiles kernels at their first submission), then measures.
Timing measure(const Rounds& rounds, const std::function<Timing()>& call);

/// Calls it, with the clock running.
Timing time_once(const std::function<void()>& work);

/// Records, submits and waits, with the clock running.
Timing run_once(gpu::Context& context, const std::function<void(gpu::Stream&)>& record);

}  // namespace headlight::bench
