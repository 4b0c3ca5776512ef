#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "core/error.h"
#include "model/mapped_file.h"

namespace headlight::model {

/// What messages about a file of some format say.
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
