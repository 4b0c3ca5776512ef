#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace headlight {

/// Which file it is, and when it was last written: what a file's content is likely to be known by, without reading it.
struct FileStamp {
  std::uint64_t device = 0, inode = 0;
  std::uint64_t bytes = 0;
  std::int64_t written_ns = 0;  ///< since 1970, as the file system reports it

  bool operator==(const FileStamp&) const = default;
};

/// Of the file at a path, links followed; none where there is no such file, or it can't be looked at.
std::optional<FileStamp> stamp_of(const std::filesystem::path& path);
/// Of an open file.
std::optional<FileStamp> stamp_of(int descriptor);

}  // namespace headlight
