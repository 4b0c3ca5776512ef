#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "core/error.h"
#include "platform/file.h"
#include "platform/memory.h"

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

/// The words of messages about a file of some format.
struct FormatWords {
  std::string_view kind;           ///< "GGUF file"
  std::string_view advice;         ///< "download it again"
  std::string_view part = "file";  ///< what a member of an archive is
};

/// Reads bytes of a file one after the other and never past their end.
class FileCursor {
 public:
  FileCursor(const MappedFile& file, std::span<const std::byte> bytes, FormatWords words)
      : file_(file), bytes_(bytes), words_(words) {}

  const std::filesystem::path& path() const { return file_.path(); }
  std::size_t position() const { return position_; }
  std::size_t remaining() const { return bytes_.size() - position_; }
  void seek(std::uint64_t position, std::string_view what) {
    if (position > bytes_.size()) fail("{} should begin at byte {} of {}", what, position, bytes_.size());
    position_ = position;
  }

  /// Throws Error in one line naming the file.
  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw Error("{} is no usable {}: {}; {}", utf8(file_.path()), words_.kind,
                fmt::format(format, std::forward<Args>(args)...), words_.advice);
  }

  /// `count` bytes of `what`.
  std::span<const std::byte> take(std::uint64_t count, std::string_view what) {
    if (count > remaining()) fail("it ends inside {}, which takes {} bytes from byte {} on", what, count, position_);
    const std::span<const std::byte> bytes = bytes_.subspan(position_, count);
    position_ += count;
    return bytes;
  }

  /// A little-endian number.
  template <typename T>
  T number(std::string_view what) {
    T value;
    std::memcpy(&value, take(sizeof(T), what).data(), sizeof(T));
    return value;
  }

  /// So many characters.
  std::string_view text(std::uint64_t length, std::string_view what) {
    const std::span<const std::byte> bytes = take(length, what);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

 private:
  const MappedFile& file_;
  std::span<const std::byte> bytes_;
  FormatWords words_;
  std::size_t position_ = 0;
};

}  // namespace headlight::model
