#pragma once

#include <windows.h>

#include <io.h>

#include "platform/file.h"

namespace headlight::platform {

/// Why the last call of the system failed.
inline std::error_code last_error() { return {static_cast<int>(::GetLastError()), std::system_category()}; }

/// Returns the handle of a file that the C library opened under this number.
inline HANDLE handle_of(int number) { return reinterpret_cast<HANDLE>(::_get_osfhandle(number)); }

/// A number for what is open; the handle is the number's from now on.
inline Descriptor descriptor_of(HANDLE handle) {
  return Descriptor(::_open_osfhandle(reinterpret_cast<std::intptr_t>(handle), 0));
}

}  // namespace headlight::platform
