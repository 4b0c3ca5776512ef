#pragma once

#include <atomic>
#include <optional>

#include "platform/file.h"
#include "platform/mapping.h"

namespace headlight::model {

/// The position of an address in a file that this process has mapped.
struct MappedAddress {
  std::filesystem::path path;
  std::size_t offset = 0;
};

/// Every MappedFile registers its addresses, so that messages can name an address's file. Any thread.
void add_mapped_address(const std::filesystem::path& path, std::span<const std::byte> bytes);
void remove_mapped_address(std::span<const std::byte> bytes);
std::optional<MappedAddress> find_mapped_address(const std::byte* address);

/// A file mapped into memory, read-only: the system loads a page at its first read. Hold it by
/// std::shared_ptr<const MappedFile>, so that a Parameter keeps it alive as its owner. When a mapped file becomes shorter or
/// can't be read any more, reads return zeros, and when it is written to, they return something else than before: readers
/// call expect_intact() afterwards.
class MappedFile {
 public:
  /// Throws Error naming the file and the reason when it can't be opened, isn't a regular file or is empty.
  explicit MappedFile(std::filesystem::path path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::span<const std::byte> bytes() const { return mapping_->bytes(); }
  /// Throws Error naming the file when it has become shorter or was written to since it was mapped, or when a read of it
  /// failed. One call of the system. A file that another one has replaced is still the same. Any thread.
  void expect_intact() const;
  /// Copies a part of bytes(), which is sooner than the first read of mapped pages and maps none. What can't be read is
  /// zeros. Any thread.
  void copy(std::span<const std::byte> part, std::byte* to) const;
  /// Returns the pages of a part to the system; the next read loads them from the file again.
  static void release(std::span<const std::byte> part) { platform::Mapping::release(part); }

 private:
  std::filesystem::path path_;
  platform::Descriptor descriptor_;          ///< of the mapped file, not of a later one at its path
  platform::FileStamp stamp_;                ///< when it was mapped
  mutable std::atomic<int> read_error_ = 0;  ///< of std::system_category(), of a read that failed
  std::optional<platform::Mapping> mapping_;
};

}  // namespace headlight::model
