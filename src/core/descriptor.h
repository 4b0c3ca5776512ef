#pragma once

#include <string>

#include "platform/file.h"

namespace headlight {

using platform::Descriptor;

/// Opens a regular file for reading. Never waits for a pipe. Throws Error naming the file and the system's reason, also for
/// pipes and devices, which may have no end, and for folders.
Descriptor open_to_read(const std::filesystem::path& path);

/// platform::read_some(). Throws Error naming `name` and the system's reason.
std::size_t read_some(int descriptor, char* to, std::size_t most, const std::string& name);

/// platform::read_at(). Throws as read_some().
std::size_t read_at(int descriptor, char* to, std::size_t count, std::uint64_t offset, const std::string& name);

}  // namespace headlight
