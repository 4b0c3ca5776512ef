#pragma once

#include <filesystem>
#include <string_view>

namespace headlight {

/// Throws Error when `content` is a Git LFS pointer, which replaces a large file that wasn't fetched: a few lines of text
/// with the file's hash and size. `path` names the file in the message.
void refuse_lfs_pointer(std::string_view content, const std::filesystem::path& path);

}  // namespace headlight
