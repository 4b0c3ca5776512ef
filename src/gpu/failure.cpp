#include "gpu/failure.h"

#include "core/error.h"

namespace headlight::gpu {

void fail(const DeviceInfo& device, const vk::SystemError& error) {
  const auto result = static_cast<vk::Result>(error.code().value());
  switch (result) {
    case vk::Result::eErrorDeviceLost:
      throw Error(ErrorKind::DeviceLost,
                  "the device '{}' was lost while it worked (a driver reset); start again or choose another device",
                  device.name);
    case vk::Result::eErrorOutOfDeviceMemory:
    case vk::Result::eErrorOutOfHostMemory:
    case vk::Result::eErrorOutOfPoolMemory:
    case vk::Result::eErrorFragmentedPool:
    case vk::Result::eErrorFragmentation:
    case vk::Result::eErrorMemoryMapFailed:
    case vk::Result::eErrorTooManyObjects:
      throw Error(ErrorKind::OutOfDeviceMemory,
                  "the device '{}' has no memory left for this ({}); make the text or the model smaller", device.name,
                  vk::to_string(result));
    default:
      throw Error("the device '{}' failed ({}); choose another device or update its driver", device.name,
                  vk::to_string(result));
  }
}

}  // namespace headlight::gpu
