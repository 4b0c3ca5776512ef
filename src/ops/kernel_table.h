#pragma once

#include <span>
#include <string_view>

#include "gpu/kernel.h"

namespace headlight::ops {

/// Every kernel that the build compiled (src/ops/CMakeLists.txt).
std::span<const gpu::KernelSource> kernel_table();

/// The kernel of this name; throws Error when there is none.
const gpu::KernelSource& kernel_source(std::string_view name);

}  // namespace headlight::ops
