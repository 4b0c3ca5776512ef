#pragma once

#include <cerrno>
#include <system_error>

namespace headlight::platform {

/// Why the last call of the system failed.
inline std::error_code last_error() { return {errno, std::system_category()}; }

}  // namespace headlight::platform
