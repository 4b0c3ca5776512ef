#pragma once

#include <filesystem>
#include <span>
#include <string_view>

namespace headlight {

/// Writes `content` beside `path` under a temporary name and renames it into place, so that a reader sees the old file or
/// the whole new one and a full disk costs nobody their work. Throws Error naming the file and the system's reason.
void write_file_atomically(const std::filesystem::path& path, std::string_view content);
void write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> content);

/// The whole file. Throws Error naming the file and the system's reason, or saying that it is a Git LFS pointer.
std::string read_file(const std::filesystem::path& path);

/// Creates the folder and its parents. Throws Error naming the folder and the system's reason.
void make_directories(const std::filesystem::path& directory);

}  // namespace headlight
