#include "platform/library.h"

#include <dlfcn.h>

namespace headlight::platform {

void (*library_function(const char* library, const char* name))() {
  void* const loaded = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  return loaded == nullptr ? nullptr : reinterpret_cast<void (*)()>(::dlsym(loaded, name));
}

}  // namespace headlight::platform
