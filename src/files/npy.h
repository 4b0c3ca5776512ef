#pragma once

#include <string_view>

#include "core/tensor.h"

/// NumPy's .npy: magic, version, the length of a Python dictionary and it, then the numbers.
namespace headlight::files {

struct NpyHeader {
  std::string type;  ///< "<f4", "|b1"
  bool is_fortran = false;
  Shape shape;
  std::size_t count = 1;       ///< the product of the axes
  std::size_t begin = 0;       ///< of the first value
  std::size_t value_size = 0;  ///< bytes, by the type's digits
};

/// Reads versions 1 to 3. Throws Error saying what is wrong, also when the file holds fewer values than the shape has.
NpyHeader read_npy_header(std::string_view bytes);
/// Reads the header of a file of `file_size` bytes, of which `bytes` are the first.
NpyHeader read_npy_header(std::string_view bytes, std::uint64_t file_size);

/// Returns a header of version 1.0, up to the first value: row-major, padded to a multiple of 64 bytes.
std::string npy_header(std::string_view type, std::span<const std::uint32_t> shape);
/// Little-endian float32.
std::string encode_npy(const Tensor& tensor);

}  // namespace headlight::files
