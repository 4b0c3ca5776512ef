#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace headlight::model {

/// A file in memory as the system maps it: read-only, pages arrive when somebody looks. Hold it by
/// std::shared_ptr<const MappedFile>, so that a Parameter keeps it alive as its owner. A file that somebody else shortens
/// while it is mapped ends the process at the next look, as with every mapping.
class MappedFile {
 public:
  /// Throws Error naming the file and the reason when it can't be opened, isn't a regular file or is empty.
  explicit MappedFile(std::filesystem::path path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::span<const std::byte> bytes() const { return bytes_; }
  /// Gives the pages of a part back to the system: they come again from the file when somebody looks.
  void release(std::span<const std::byte> part) const;

 private:
  std::filesystem::path path_;
  std::span<const std::byte> bytes_;
};

}  // namespace headlight::model
