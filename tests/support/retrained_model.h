#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>

#include "core/file.h"

namespace headlight::test {

/// A copy of a golden model's folder.
inline std::filesystem::path copy_of_golden(const std::string& model, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  for (const auto& file :
       std::filesystem::directory_iterator(std::filesystem::path(HEADLIGHT_GOLDEN_DIR) / "models" / model)) {
    if (file.path().filename() != "reference.safetensors")
      std::filesystem::copy(file.path(), folder / file.path().filename());
  }
  return folder;
}

/// Changes the weights of the model in the folder: bits of each float32's mantissa are flipped.
inline std::filesystem::path retrained(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "model.safetensors";
  std::string bytes = read_file(path);
  std::uint64_t header = 0;  // little endian, as every machine that runs this is
  std::memcpy(&header, bytes.data(), sizeof(header));
  for (std::size_t at = sizeof(header) + header; at + 4 <= bytes.size(); at += 4) {
    bytes[at + 2] = static_cast<char>(bytes[at + 2] ^ (at % 12 == 0 ? 0x35 : 0x11));
  }
  write_file_atomically(path, bytes);
  return folder;
}

}  // namespace headlight::test
