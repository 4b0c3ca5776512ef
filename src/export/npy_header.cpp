#include "export/npy_header.h"

#include <charconv>
#include <cstdint>
#include <optional>

#include "core/error.h"

namespace headlight::exporting {
namespace {

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
  constexpr std::size_t kMostAxes = 32;  // NumPy's own limit
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
    if (error != std::errc{} || shape.size() == kMostAxes) return std::nullopt;
    shape.push_back(size);
    at = next;
    while (at < stop && (*at == ',' || *at == ' ')) ++at;
  }
  return shape;
}

}  // namespace

NpyHeader read_npy_header(std::string_view bytes) { return read_npy_header(bytes, bytes.size()); }

NpyHeader read_npy_header(std::string_view bytes, std::uint64_t file_size) {
  constexpr std::size_t kShort = 10, kLong = 12;  // version 1 has 2 bytes for the dictionary's length, later ones 4
  if (bytes.size() < kLong || !bytes.starts_with(kNpyMagic)) {
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

}  // namespace headlight::exporting
