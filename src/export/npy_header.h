#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/tensor.h"

namespace headlight::exporting {

inline constexpr std::string_view kNpyMagic = "\x93NUMPY";  ///< a .npy file's first bytes

/// The header of NumPy's .npy: magic, version, length, a Python dictionary.
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
/// The same of a file of `file_size` bytes, of which `bytes` are the first.
NpyHeader read_npy_header(std::string_view bytes, std::uint64_t file_size);

}  // namespace headlight::exporting
