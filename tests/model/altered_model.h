#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "model/architectures/families.h"
#include "model/load_network.h"
#include "support/error_message.h"
#include "support/golden_model.h"
#include "support/temporary_directory.h"

// Golden models whose config or file of weights a test changes.
namespace headlight::test {

inline nlohmann::json config_of(std::string_view name) {
  return nlohmann::json::parse(read_file(golden_model_path(name) / "config.json"));
}

inline bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// The error of loading a golden model after `change` to its config; empty without one. Each says what shows the network,
/// where it has attention.
template <typename Change>
std::string complaint(std::string_view name, const Change& change, bool has_attention = true) {
  nlohmann::json config = config_of(name);
  change(config);
  std::string found = error_message([&] { model::load_network(model::Checkpoint(golden_model_path(name)), config.dump()); });
  const std::string hint = model::capture_hint(config.value("model_type", ""));
  if (has_attention && !found.empty()) CHECK_MESSAGE(holds(found, hint), found);
  return found;
}

/// A safetensors file's header and its numbers, to be changed and written elsewhere.
struct Safetensors {
  nlohmann::json header;
  std::string numbers;

  explicit Safetensors(const std::filesystem::path& path) {
    const std::string bytes = read_file(path);
    std::uint64_t length = 0;
    for (std::size_t i = 0; i < 8; ++i) length |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    header = nlohmann::json::parse(bytes.substr(8, length));
    numbers = bytes.substr(8 + length);
  }

  void rename(const std::string& from, const std::string& to) {
    header[to] = header.at(from);
    header.erase(from);
  }

  void write(const std::filesystem::path& path) const {
    const std::string text = header.dump();
    std::ofstream file(path, std::ios::binary);
    for (std::size_t i = 0; i < 8; ++i) file.put(static_cast<char>(text.size() >> (8 * i) & 0xff));
    file << text << numbers;
  }
};

/// The error of loading a golden model after `change` to its file's header.
template <typename Change>
std::string complaint_of_file(std::string_view name, const Change& change) {
  const TemporaryDirectory folder;
  Safetensors file(golden_model_path(name) / "model.safetensors");
  change(file);
  file.write(folder.path() / "model.safetensors");
  std::filesystem::copy(golden_model_path(name) / "config.json", folder.path() / "config.json");
  std::string found = error_message([&] { model::load_network(folder.path()); });
  if (!found.empty())
    CHECK_MESSAGE(found.ends_with(model::capture_hint(config_of(name).at("model_type").get<std::string>())), found);
  return found;
}

}  // namespace headlight::test
