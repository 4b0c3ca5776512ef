#pragma once

#include <cstring>

#include "core/error.h"
#include "files/npy.h"

namespace headlight::files {

/// Reads what encode_npy() writes. Throws Error saying what is wrong with the bytes.
inline Tensor decode_npy(std::string_view bytes) {
  const NpyHeader header = read_npy_header(bytes);
  if (header.type != "<f4" || header.is_fortran) {
    throw Error("the .npy file holds something other than row-major little-endian float32");
  }
  const std::string_view content = bytes.substr(header.begin);
  if (content.size() != header.count * sizeof(float)) {
    throw Error("the .npy file has {} bytes of values, its shape needs {}", content.size(), header.count * sizeof(float));
  }
  Tensor tensor(header.shape);
  std::memcpy(tensor.values.data(), content.data(), content.size());
  return tensor;
}

}  // namespace headlight::files
