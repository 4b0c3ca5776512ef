#pragma once

#include <zip.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/atomic_file.h"
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

/// A zip archive of these entries, deflated or stored.
inline std::filesystem::path write_zip(const std::filesystem::path& path, const std::map<std::string, std::string>& entries,
                                       bool is_compressed) {
  int error = 0;
  zip_t* archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &error);
  for (const auto& [name, bytes] : entries) {
    zip_source_t* source = zip_source_buffer(archive, bytes.data(), bytes.size(), 0);
    const zip_int64_t index = zip_file_add(archive, name.c_str(), source, 0);
    const zip_int32_t method = is_compressed ? ZIP_CM_DEFLATE : ZIP_CM_STORE;
    zip_set_file_compression(archive, static_cast<zip_uint64_t>(index), method, 0);
  }
  zip_close(archive);
  return path;
}

}  // namespace headlight::test
