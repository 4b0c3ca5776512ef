#pragma once

#include <span>

#include "gpu/kernel.h"

namespace headlight::ops {

/// Every kernel that the build compiled (src/ops/CMakeLists.txt).
std::span<const gpu::KernelSource> kernel_table();

}  // namespace headlight::ops
