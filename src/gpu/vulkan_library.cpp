#include "gpu/vulkan_library.h"

#include "core/error.h"
#include "gpu/driver_advice.h"
#include "platform/library.h"

namespace headlight::gpu {

void (*vulkan_function(const char* name))() {
  void (*function)() = platform::library_function("libvulkan.so.1", name);
  if (function == nullptr) throw Error(ErrorKind::NoDevice, "no Vulkan loader with {}: {}", name, driver_advice());
  return function;
}

}  // namespace headlight::gpu
