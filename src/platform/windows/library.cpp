#include "platform/library.h"

#include <windows.h>

namespace headlight::platform {

void (*library_function(const char* library, const char* name))() {
  const HMODULE loaded = ::LoadLibraryA(library);
  return loaded == nullptr ? nullptr : reinterpret_cast<void (*)()>(::GetProcAddress(loaded, name));
}

}  // namespace headlight::platform
