#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "ops/kernels.h"

namespace headlight::bench {

/// One thing that has to hold on any machine, however slow or busy.
struct Verdict {
  std::string what;  ///< one line with measured number and bound
  bool holds = false;
  bool is_of_speed = false;  ///< where it doesn't hold, the device is slow; else something is wrong
};

/// The worst of several verdicts.
enum class CheckResult : std::uint8_t { Holds, Slow, Wrong };

/// Measures a few ratios with wide margins and reports each verdict as soon as it is known:
///   a pass of a small layer gives the numbers of plain loops in double precision
///   the projections run at least kMinGain times as fast as by the naive kernel (best of several interleaved medians)
///   a pass is one submission that dispatches nothing but projections and attention
///   a run's device memory grows with n, not with n²
CheckResult check(ops::Kernels& kernels, const std::filesystem::path& tuning_file,
                  const std::function<void(const Verdict&)>& tell);

}  // namespace headlight::bench
