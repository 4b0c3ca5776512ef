#pragma once

#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/file.h"
#include "model/file_bytes.h"
#include "support/temporary_directory.h"

namespace headlight::test {

inline std::filesystem::path golden_capture(std::string_view name) {
  return std::filesystem::path(HEADLIGHT_GOLDEN_DIR) / "captures" / name;
}

/// A tensor of float32 for a file made by hand.
struct MadeTensor {
  std::string name;
  std::vector<std::uint32_t> shape;
  std::vector<float> values;
};

/// A .safetensors file of these tensors. `metadata`: members of "__metadata__", as JSON.
inline std::filesystem::path write_capture(const std::filesystem::path& path, const std::vector<MadeTensor>& tensors,
                                           std::string_view metadata = "") {
  std::string header = fmt::format(R"({{"__metadata__":{{{}}})", metadata);
  FileBytes data;
  for (const MadeTensor& tensor : tensors) {
    const std::size_t begin = data.bytes().size();
    for (const float value : tensor.values) data.number(value);
    header += fmt::format(R"(,"{}":{{"dtype":"F32","shape":[{}],"data_offsets":[{},{}]}})", tensor.name,
                          fmt::join(tensor.shape, ","), begin, data.bytes().size());
  }
  write_file_atomically(path, safetensors(header + "}", data.bytes()));
  return path;
}

/// Weights [batch, heads, queries, keys] that are all 1/keys.
inline MadeTensor even(std::string name, std::vector<std::uint32_t> shape) {
  std::size_t count = 1;
  for (const std::uint32_t axis : shape) count *= axis;
  const auto keys = static_cast<float>(shape.back());
  return {.name = std::move(name), .shape = std::move(shape), .values = std::vector<float>(count, 1.0F / keys)};
}

/// A .npy of version 1.
inline std::string npy(std::string_view type, std::string_view shape, std::string_view data, bool is_fortran = false) {
  std::string dictionary =
      fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}\n", type, is_fortran ? "True" : "False", shape);
  return FileBytes()
      .raw("\x93NUMPY")
      .number(std::uint8_t{1})
      .number(std::uint8_t{0})
      .number(static_cast<std::uint16_t>(dictionary.size()))
      .raw(dictionary)
      .raw(data)
      .bytes();
}

/// Bytes as zip archives have them that are compressed.
inline std::string deflated(const std::string& bytes) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

/// A zip archive of these entries, deflated or stored.
inline std::filesystem::path write_zip(const std::filesystem::path& path, const std::map<std::string, std::string>& entries,
                                       bool is_compressed) {
  std::string archive, directory;
  const auto put = [](std::string& to, auto... numbers) {
    (to.append(reinterpret_cast<const char*>(&numbers), sizeof(numbers)), ...);
  };
  for (const auto& [name, bytes] : entries) {
    const std::string packed = is_compressed ? deflated(bytes) : bytes;
    const auto crc = static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
    const auto begin = static_cast<std::uint32_t>(archive.size());
    std::string fields;
    put(fields, std::uint16_t{20}, std::uint16_t{0}, static_cast<std::uint16_t>(is_compressed ? 8 : 0), std::uint32_t{0},
        crc, static_cast<std::uint32_t>(packed.size()), static_cast<std::uint32_t>(bytes.size()),
        static_cast<std::uint16_t>(name.size()), std::uint16_t{0});
    archive.append("PK\3\4").append(fields).append(name).append(packed);
    directory += std::string("PK\1\2\x14\0", 6) + fields + std::string(10, '\0');
    put(directory, begin);
    directory += name;
  }
  const auto begin = static_cast<std::uint32_t>(archive.size()), size = static_cast<std::uint32_t>(directory.size());
  archive += directory + std::string("PK\5\6\0\0\0\0", 8);
  const auto count = static_cast<std::uint16_t>(entries.size());
  put(archive, count, count, size, begin, std::uint16_t{0});
  write_file_atomically(path, archive);
  return path;
}

}  // namespace headlight::test
