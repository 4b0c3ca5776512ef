#include "export/npy.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "core/error.h"
#include "export/file_array.h"
#include "export/npy_header.h"

namespace headlight::exporting {
namespace {

static_assert(std::endian::native == std::endian::little, "values are written as in memory");

constexpr std::size_t kPreamble = 10;  // magic, two bytes of version, two of the dictionary's length
constexpr std::size_t kAlignment = 64;

std::string_view as_bytes(std::span<const float> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

// Python's tuple: "()", "(3,)", "(2, 3)".
std::string shape_text(std::span<const std::uint32_t> shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

std::string header_of(std::string_view type, std::span<const std::uint32_t> shape) {
  std::string dictionary = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", type, shape_text(shape));
  const std::size_t unpadded = kPreamble + dictionary.size() + 1;  // and a newline
  dictionary.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  dictionary += '\n';
  std::string header(kNpyMagic);
  header += '\x01';
  header += '\x00';
  header += static_cast<char>(dictionary.size() & 0xffU);
  header += static_cast<char>(dictionary.size() >> 8);
  return header + dictionary;
}

}  // namespace

std::string npy_header(std::span<const std::uint32_t> shape) { return header_of("<f4", shape); }

std::string npy_header(const FileArray& array) {
  if (array.type == ArrayType::Text) return header_of(fmt::format("<U{}", array.text_length), array.shape);
  return header_of(array.type == ArrayType::F32 ? "<f4" : "<i8", array.shape);
}

std::string encode_npy(const Tensor& tensor) { return npy_header(tensor.shape).append(as_bytes(tensor.values)); }

Tensor decode_npy(std::string_view bytes) {
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

}  // namespace headlight::exporting
