#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/device_info.h"

namespace headlight::test {

/// Returns the properties of a GPU with so many cores on which the choice of tiles depends; no such device is needed.
inline gpu::DeviceInfo device_with_cores(std::uint32_t cores) {
  gpu::DeviceInfo info;
  info.cores = cores;
  info.max_invocations = 1'024;
  info.shared_memory_bytes = 32'768;
  info.max_storage_range = std::size_t{1} << 30;
  for (std::uint32_t& limit : info.max_groups) limit = 65'535;
  return info;
}

}  // namespace headlight::test
