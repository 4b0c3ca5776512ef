#include "export/npy.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "core/atomic_file.h"
#include "core/error.h"
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

}  // namespace

std::string npy_header(std::span<const std::uint32_t> shape) {
  std::string dictionary = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': {}, }}", shape_text(shape));
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

void write_npy(const std::filesystem::path& path, const Tensor& tensor) {
  NpyFile file(path, tensor.shape);
  file.append(tensor.values);
  file.finish();
}

NpyFile::NpyFile(const std::filesystem::path& path, std::span<const std::uint32_t> shape)
    : file_(path), name_(path.filename().string()), expected_(element_count(shape)) {
  file_.append(npy_header(shape));
}

void NpyFile::append(std::span<const float> values) {
  file_.append(as_bytes(values));
  appended_ += values.size();
}

void NpyFile::finish() {
  if (appended_ != expected_) throw Error("{} got {} values, its shape needs {}", name_, appended_, expected_);
  file_.finish();
}

}  // namespace headlight::exporting
