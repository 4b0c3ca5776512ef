#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "core/error.h"
#include "model/mapped_file.h"

namespace headlight::model {

/// Reads the header of a GGUF file and never past its end.
class GgufCursor {
 public:
  explicit GgufCursor(const MappedFile& file) : file_(file) {}

  std::size_t position() const { return position_; }
  std::size_t remaining() const { return file_.bytes().size() - position_; }

  /// Throws Error in one line naming the file.
  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw Error("{} is no usable GGUF file: {}; download it again", file_.path().string(),
                fmt::format(format, std::forward<Args>(args)...));
  }

  /// `count` bytes of `what`.
  std::span<const std::byte> take(std::uint64_t count, std::string_view what) {
    if (count > remaining()) fail("it ends inside {}, which takes {} bytes from byte {} on", what, count, position_);
    const std::span<const std::byte> bytes = file_.bytes().subspan(position_, count);
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

  /// A length of 64 bits and as many characters.
  std::string_view text(std::string_view what) {
    const auto length = number<std::uint64_t>(what);
    const std::span<const std::byte> bytes = take(length, what);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

 private:
  const MappedFile& file_;
  std::size_t position_ = 0;
};

}  // namespace headlight::model
