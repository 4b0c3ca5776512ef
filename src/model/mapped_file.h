#pragma once

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>

#include "core/file_stamp.h"

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

/// Keeps the process alive when a mapped file becomes shorter. The system answers a read past the file's new end with
/// SIGBUS; a handler, installed with the first guard, then maps zeros over the rest of the mapping and marks the guard. A
/// SIGBUS for any other reason goes to the previous handler. Thread-safe.
class MappingGuard {
 public:
  /// `mapping` is what mmap() returned. With kMax guards in use a mapping stays unguarded.
  explicit MappingGuard(std::span<const std::byte> mapping);
  /// Destroy before the mapping is unmapped.
  ~MappingGuard();
  MappingGuard(const MappingGuard&) = delete;
  MappingGuard& operator=(const MappingGuard&) = delete;

  /// Were zeros read in place of missing bytes?
  bool is_damaged() const;

  static constexpr std::size_t kMax = 1024;

 private:
  struct Slot;
  static Slot* find_free();
  Slot* slot_ = nullptr;
};

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
  std::span<const std::byte> bytes() const { return bytes_; }
  /// Throws Error naming the file when it has become shorter or was written to since it was mapped, or when a read of it
  /// failed. One call of the system. A file that another one has replaced is still the same. Any thread.
  void expect_intact() const;
  /// Copies a part of bytes(), which is sooner than the first read of mapped pages and maps none. What can't be read is
  /// zeros. Any thread.
  void copy(std::span<const std::byte> part, std::byte* to) const;
  /// Returns the pages of a part to the system; the next read loads them from the file again.
  void release(std::span<const std::byte> part) const;

 private:
  void map(std::size_t size);

  std::filesystem::path path_;
  std::span<const std::byte> bytes_;
  int descriptor_ = -1;                      ///< of the mapped file, not of a later one at its path
  FileStamp stamp_;                          ///< when it was mapped
  mutable std::atomic<int> read_error_ = 0;  ///< errno of a read that failed
  std::optional<MappingGuard> guard_;
};

}  // namespace headlight::model
