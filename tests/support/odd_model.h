#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "core/file.h"
#include "support/golden_model.h"

namespace headlight::test {

/// A golden model of float32 in another folder, with one number of one tensor replaced.
inline void write_odd_model(const std::filesystem::path& folder, std::string_view golden, const std::string& tensor,
                            std::size_t index, float number) {
  std::string bytes = read_file(golden_model_path(golden) / "model.safetensors");
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof(length));
  const nlohmann::json header = nlohmann::json::parse(bytes.substr(8, length));
  const std::size_t begin = header.at(tensor).at("data_offsets").at(0).get<std::size_t>();
  std::memcpy(bytes.data() + 8 + length + begin + index * sizeof(number), &number, sizeof(number));
  std::filesystem::create_directories(folder);
  write_file_atomically(folder / "model.safetensors", std::string_view(bytes));
  write_file_atomically(folder / "config.json", std::string_view(read_file(golden_model_path(golden) / "config.json")));
}

/// A golden model of float32 in another folder, with every number of one tensor multiplied: all stay finite.
inline void write_scaled_model(const std::filesystem::path& folder, std::string_view golden, const std::string& tensor,
                               float factor) {
  std::filesystem::create_directories(folder);
  for (const auto& entry : std::filesystem::directory_iterator(golden_model_path(golden))) {
    std::filesystem::copy_file(entry.path(), folder / entry.path().filename(),
                               std::filesystem::copy_options::overwrite_existing);
  }
  std::string bytes = read_file(folder / "model.safetensors");
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof(length));
  const nlohmann::json offsets = nlohmann::json::parse(bytes.substr(8, length)).at(tensor).at("data_offsets");
  for (std::size_t at = offsets.at(0); at < offsets.at(1).get<std::size_t>(); at += sizeof(float)) {
    float number = 0.0F;
    std::memcpy(&number, bytes.data() + 8 + length + at, sizeof(number));
    number *= factor;
    std::memcpy(bytes.data() + 8 + length + at, &number, sizeof(number));
  }
  write_file_atomically(folder / "model.safetensors", std::string_view(bytes));
}

}  // namespace headlight::test
