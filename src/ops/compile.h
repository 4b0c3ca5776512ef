#pragma once

#include <chrono>
#include <cstdint>
#include <span>

#include "gpu/kernel.h"
#include "ops/kernels.h"

namespace headlight::ops {

struct CompileOptions {
  CompileObserver observer = {};
  /// A dispatch of zero groups that takes longer has compiled its kernel; one that the driver's cache holds takes less.
  std::chrono::milliseconds long_one{40};
  std::uint32_t threads = 0;  ///< 0: as many as the processor has, at most four
};

/// Compiles kernels that aren't yet, beginning in this order. Most drivers compile when a pipeline is made, which several
/// threads do at once. One that compiles in the first dispatch (DeviceInfo::compiles_when_run) does so on its queue, one
/// kernel after the other: there each kernel is dispatched once with no workgroup at all, and when that takes long, other
/// threads compile the next ones on devices of their own, whose results the driver keeps in its cache on disk, where the
/// first device finds them. Throws what compiling throws; kernels done by then stay.
void compile_in_order(gpu::Context& context, std::span<gpu::Kernel* const> kernels, const CompileOptions& options = {});

}  // namespace headlight::ops
