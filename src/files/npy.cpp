#include "files/npy.h"

#include <bit>
#include <charconv>
#include <cstring>
#include <optional>

#include <fmt/ranges.h>

#include "core/error.h"

namespace headlight::files {
namespace {

static_assert(std::endian::native == std::endian::little, "values are written as in memory");

constexpr std::string_view kMagic = "\x93NUMPY";  // a file's first bytes
constexpr std::size_t kShort = 10, kLong = 12;  // bytes before the dictionary: version 1 has 2 for its length, later ones 4

/// The text after a key of the dictionary, without leading spaces.
std::optional<std::string_view> value_of(std::string_view dictionary, std::string_view key) {
  const std::size_t at = dictionary.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  dictionary.remove_prefix(at + key.size());
  const std::size_t begin = dictionary.find_first_not_of(' ');
  return begin == std::string_view::npos ? std::nullopt : std::optional(dictionary.substr(begin));
}

std::optional<std::string> read_type(std::string_view dictionary) {
  std::optional<std::string_view> value = value_of(dictionary, "'descr':");
  if (!value || !value->starts_with('\'')) return std::nullopt;
  value->remove_prefix(1);
  const std::size_t end = value->find('\'');
  return end == std::string_view::npos ? std::nullopt : std::optional<std::string>(value->substr(0, end));
}

/// Python's tuple: "()", "(3,)", "(2, 3)".
std::optional<Shape> read_shape(std::string_view dictionary) {
  constexpr std::size_t kMaxAxes = 32;  // NumPy's own limit
  const std::optional<std::string_view> value = value_of(dictionary, "'shape':");
  if (!value || !value->starts_with('(')) return std::nullopt;
  const std::size_t end = value->find(')');
  if (end == std::string_view::npos) return std::nullopt;
  const char* at = value->data() + 1;
  const char* const stop = value->data() + end;
  Shape shape;
  while (at < stop) {
    std::uint32_t size = 0;
    const auto [next, error] = std::from_chars(at, stop, size);
    if (error != std::errc{} || shape.size() == kMaxAxes) return std::nullopt;
    shape.push_back(size);
    at = next;
    while (at < stop && (*at == ',' || *at == ' ')) ++at;
  }
  return shape;
}

}  // namespace

NpyHeader read_npy_header(std::string_view bytes) { return read_npy_header(bytes, bytes.size()); }

NpyHeader read_npy_header(std::string_view bytes, std::uint64_t file_size) {
  if (bytes.size() < kLong || !bytes.starts_with(kMagic)) {
    throw Error("no NumPy file (it doesn't begin with \\x93NUMPY)");
  }
  const auto byte = [&](std::size_t i) { return std::size_t{static_cast<unsigned char>(bytes[i])}; };
  const bool is_long = byte(6) >= 2;
  const std::size_t preamble = is_long ? kLong : kShort;
  const std::size_t length = is_long ? byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24 : byte(8) | byte(9) << 8;
  if (bytes.size() - preamble < length) throw Error("the file ends inside its header");
  const std::string_view dictionary = bytes.substr(preamble, length);

  const std::optional<std::string> type = read_type(dictionary);
  const std::optional<Shape> shape = read_shape(dictionary);
  if (!type || !shape) throw Error("the NumPy header doesn't say type and shape");
  const std::optional<std::string_view> order = value_of(dictionary, "'fortran_order':");
  NpyHeader header{.type = *type, .is_fortran = order && order->starts_with("True"), .shape = *shape};
  header.begin = preamble + length;
  if (type->size() == 3 && (*type)[2] > '0' && (*type)[2] <= '9')
    header.value_size = static_cast<std::size_t>((*type)[2] - '0');
  if (type->find('O') != std::string::npos)
    throw Error("it holds Python objects, which are never unpickled; save the array as float32");
  if (header.value_size == 0) throw Error("numbers of type {} are not read; save the array as float32 or bool", *type);
  const std::size_t most = (file_size - header.begin) / header.value_size;
  const auto expect_inside = [&] {
    if (header.count > most) throw Error("the file ends before its last number");
  };
  for (const std::uint32_t axis : header.shape) {
    header.count *= axis;
    expect_inside();
  }
  expect_inside();  // a scalar has one number and no axes
  return header;
}

std::string npy_header(std::string_view type, std::span<const std::uint32_t> shape) {
  constexpr std::size_t kAlignment = 64;
  const char* after = shape.size() == 1 ? "," : "";  // Python's tuple: "()", "(3,)", "(2, 3)"
  std::string dictionary =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", type, fmt::join(shape, ", "), after);
  const std::size_t unpadded = kShort + dictionary.size() + 1;  // and a newline
  dictionary.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  dictionary += '\n';
  std::string header(kMagic);
  header += {'\x01', '\x00', static_cast<char>(dictionary.size() & 0xffU), static_cast<char>(dictionary.size() >> 8)};
  return header + dictionary;
}

std::string encode_npy(const Tensor& tensor) {
  return npy_header("<f4", tensor.shape)
      .append(reinterpret_cast<const char*>(tensor.values.data()), tensor.values.size() * sizeof(float));
}

}  // namespace headlight::files
