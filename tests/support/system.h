#pragma once

#include <filesystem>
#include <string>
#include <system_error>

#include "platform/file.h"

namespace headlight::test {

/// A device of this system that can be opened and read.
#ifdef _WIN32
inline constexpr const char* kDevice = "NUL";
#else
inline constexpr const char* kDevice = "/dev/zero";
#endif

/// The system's own words on why a file can't be opened; empty where it can.
inline std::string reason_against(const std::filesystem::path& path) {
  std::error_code error;
  static_cast<void>(platform::open_to_read(path, error));
  return error ? error.message() : std::string();
}

/// Makes a link as Hugging Face's cache does: where the system or its library makes none, its place has a copy, or nothing
/// where there is no target.
inline void link_or_copy(const std::filesystem::path& target, const std::filesystem::path& link) {
  std::error_code failure, ignored;
  std::filesystem::create_symlink(target, link, failure);
  if (failure) std::filesystem::copy_file(link.parent_path() / target, link, ignored);
}

}  // namespace headlight::test
