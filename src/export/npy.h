#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "core/atomic_file.h"
#include "core/tensor.h"

namespace headlight::exporting {

/// NumPy's .npy 1.0: little-endian float32, row-major, header padded to a multiple of 64 bytes.

/// Magic, version and dictionary, up to the first value.
std::string npy_header(std::span<const std::uint32_t> shape);
std::string encode_npy(const Tensor& tensor);
/// Reads what encode_npy() writes. Throws Error saying what is wrong with the bytes.
Tensor decode_npy(std::string_view bytes);
void write_npy(const std::filesystem::path& path, const Tensor& tensor);

/// Writes an .npy in parts: its values may exceed the memory.
class NpyFile {
 public:
  /// Throws Error in one line when the file can't be written, as the other functions do.
  NpyFile(const std::filesystem::path& path, std::span<const std::uint32_t> shape);

  /// The next values in row-major order, any number of them.
  void append(std::span<const float> values);
  /// Values so far, and in all.
  std::size_t appended() const { return appended_; }
  std::size_t expected() const { return expected_; }
  /// Moves the file to its path. Throws Error unless exactly the shape's elements were appended.
  void finish();

 private:
  AtomicFile file_;
  std::string name_;
  std::size_t expected_ = 0;
  std::size_t appended_ = 0;
};

}  // namespace headlight::exporting
