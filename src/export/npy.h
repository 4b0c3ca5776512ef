#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/tensor.h"

namespace headlight::exporting {

struct FileArray;

/// NumPy's .npy 1.0: little-endian float32, row-major, header padded to a multiple of 64 bytes.

/// Magic, version and dictionary, up to the first value.
std::string npy_header(std::span<const std::uint32_t> shape);
/// Of an array of any type.
std::string npy_header(const FileArray& array);
std::string encode_npy(const Tensor& tensor);
/// Reads what encode_npy() writes. Throws Error saying what is wrong with the bytes.
Tensor decode_npy(std::string_view bytes);

}  // namespace headlight::exporting
