#pragma once

#include "gpu/kernel.h"
#include "ops/kernels.h"

namespace headlight::ops {

struct CompileOptions {
  CompileObserver observer = {};
  /// A dispatch of zero groups that takes longer has compiled its kernel; one from the driver's cache takes less.
  std::chrono::milliseconds long_one{40};
  std::uint32_t threads = 0;  ///< 0: as many as the processor has, at most four
};

/// Compiles the kernels that aren't compiled yet, starting in this order. Most drivers compile when a pipeline is created,
/// which several threads do at once. A driver that compiles in the first dispatch (DeviceInfo::compiles_when_run) does so on
/// its queue, one kernel at a time: there each kernel is dispatched once with no workgroups, and when that takes long, other
/// threads compile the next ones on devices of their own; the driver stores them in its disk cache, where the first device
/// finds them. Kernels that the driver refuses stay uncompiled. Throws Error of kind DeviceLost; kernels done by then stay
/// compiled.
void compile_in_order(gpu::Context& context, std::span<gpu::Kernel* const> kernels, const CompileOptions& options = {});

}  // namespace headlight::ops
