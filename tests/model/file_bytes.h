#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/file.h"
#include "support/temporary_directory.h"

namespace headlight::test {

/// Bytes of a file made by hand.
class FileBytes {
 public:
  template <typename T>
  FileBytes& number(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    return *this;
  }
  /// Characters without a length.
  FileBytes& raw(std::string_view text) {
    bytes_ += text;
    return *this;
  }
  /// A length of 64 bits and the characters: GGUF's strings.
  FileBytes& text(std::string_view text) { return number(std::uint64_t{text.size()}).raw(text); }
  FileBytes& zeros(std::size_t count) {
    bytes_.append(count, '\0');
    return *this;
  }
  FileBytes& pad_to(std::size_t multiple) { return zeros((multiple - bytes_.size() % multiple) % multiple); }

  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// A safetensors file of this header and data.
inline std::string safetensors(std::string_view header, std::string_view data) {
  return FileBytes().text(header).raw(data).bytes();
}

/// A file of one F32 tensor "a" of shape [rows, 1024].
inline std::string large_file(std::uint32_t rows) {
  const std::string header =
      fmt::format(R"({{"a":{{"dtype":"F32","shape":[{},1024],"data_offsets":[0,{}]}}}})", rows, rows * 4096);
  std::string bytes = safetensors(header, "");
  for (std::uint32_t row = 0; row < rows; ++row) {
    for (std::uint32_t i = 0; i < 1024; ++i) bytes += FileBytes().number(1.0f).bytes();
  }
  return bytes;
}

}  // namespace headlight::test
