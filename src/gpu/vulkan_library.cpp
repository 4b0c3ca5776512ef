#include "gpu/vulkan_library.h"

#include <dlfcn.h>

#include "core/error.h"
#include "gpu/driver_advice.h"

namespace headlight::gpu {

void (*vulkan_function(const char* name))() {
  static void* const kLibrary = ::dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
  void* function = kLibrary == nullptr ? nullptr : ::dlsym(kLibrary, name);
  if (function == nullptr) throw Error(ErrorKind::NoDevice, "no Vulkan loader with {}: {}", name, driver_advice());
  return reinterpret_cast<void (*)()>(function);
}

}  // namespace headlight::gpu
