// Configurations in the shape of well-known checkpoints (tests/golden/checkpoints.json, by tools/make_checkpoint_golden.py).
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/file.h"
#include "inference/reference_run.h"
#include "model/file_bytes.h"
#include "model/load_network.h"
#include "support/golden_model.h"
#include "support/temporary_directory.h"

namespace checkpoints_test {

using namespace headlight;
using namespace headlight::model;
using namespace headlight::test;
using nlohmann::json;

namespace {

const json& checkpoints() {
  static const json kAll = json::parse(read_file(HEADLIGHT_GOLDEN_DIR "/checkpoints.json"));
  return kAll;
}

/// Places in a pattern's entry.
enum : std::uint8_t { kShape, kSmallShape, kMean, kMost, kFirstLayer, kLayers, kSmallLayers };

/// Calls `act` with each tensor's name and the entry of its pattern.
template <typename Act>
void for_each_tensor(const json& patterns, bool is_small, const Act& act) {
  for (const auto& [pattern, entry] : patterns.items()) {
    const std::size_t hole = pattern.find("{}");
    if (hole == std::string::npos) {
      act(pattern, entry);
      continue;
    }
    const std::uint32_t first = entry[kFirstLayer];
    const std::uint32_t count = entry[is_small ? kSmallLayers : kLayers];
    for (std::uint32_t layer = first; layer < first + count; ++layer) {
      act(fmt::format("{}{}{}", pattern.substr(0, hole), layer, pattern.substr(hole + 2)), entry);
    }
  }
}

std::uint64_t count_of(const json& shape) {
  std::uint64_t count = 1;
  for (const std::uint64_t axis : shape) count *= axis;
  return count;
}

/// The header of a safetensors file with these tensors, and how many bytes of numbers follow.
std::pair<std::string, std::uint64_t> header_of(const json& patterns, bool is_small) {
  json header;
  const std::uint64_t bytes_each = is_small ? 4 : 2;
  std::uint64_t at = 0;
  for_each_tensor(patterns, is_small, [&](const std::string& name, const json& entry) {
    const json& shape = entry[is_small ? kSmallShape : kShape];
    const std::uint64_t end = at + count_of(shape) * bytes_each;
    header[name] = {{"dtype", is_small ? "F32" : "BF16"}, {"shape", shape}, {"data_offsets", {at, end}}};
    at = end;
  });
  return {FileBytes().text(header.dump()).bytes(), at};
}

std::uint32_t checksum(std::string_view text) {
  std::uint32_t sum = ~0u;
  for (const char character : text) {
    sum ^= static_cast<unsigned char>(character);
    for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ (sum & 1 ? 0xedb88320u : 0u);
  }
  return ~sum;
}

/// Number `i` of a tensor, from -1 to 1: SplitMix64 of a sequence that starts at the name's CRC-32.
double number_of(std::uint64_t start, std::uint64_t i) {
  std::uint64_t x = (start + i) * 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return static_cast<double>((x ^ x >> 31) >> 11) * 0x1p-52 - 1.0;
}

/// The numbers of all tensors, one after the other.
std::string numbers_of(const json& patterns) {
  std::vector<float> numbers;
  for_each_tensor(patterns, true, [&](const std::string& name, const json& entry) {
    const std::uint64_t start = std::uint64_t{checksum(name)} << 32, count = count_of(entry[kSmallShape]);
    const double mean = entry[kMean], most = entry[kMost];
    for (std::uint64_t i = 0; i < count; ++i) numbers.push_back(static_cast<float>(mean + most * number_of(start, i)));
  });
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float)};
}

/// Poolers and another task's head belong to no map; the norm of DeBERTa's distances becomes part of their table.
bool is_in_network(const std::string& name) {
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  return !has("pooler.") && !has("contact_head.") && name != "encoder.LayerNorm.weight" && name != "encoder.LayerNorm.bias";
}

TokenBatch line_of(const json& ids) {
  TokenBatch tokens{.length = static_cast<std::uint32_t>(ids.size()), .ids = ids.get<std::vector<std::uint32_t>>()};
  tokens.lengths = {tokens.length};
  return tokens;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("well-known checkpoints open from their config.json, with transformers' heads, windows and parameters") {
    std::size_t verified = 0, count = 0;
    for (const json& checkpoint : checkpoints()) {
      CAPTURE(checkpoint.at("name").get<std::string>());
      const TemporaryDirectory folder;
      write_file_atomically(folder.path() / "config.json", checkpoint.at("config").dump());
      const auto [header, bytes] = header_of(checkpoint.at("tensors"), false);
      write_file_atomically(folder.path() / "model.safetensors", header);
      // The file is as large as the weights, up to 200 GB: a file with a hole, nothing of which is read.
      std::filesystem::resize_file(folder.path() / "model.safetensors", header.size() + bytes);
      try {
        const LoadedNetwork loaded = load_network(folder.path());
        const ModelDescription& about = loaded.description;
        CHECK(about.heads == checkpoint.at("heads"));
        CHECK(about.kv_heads == checkpoint.at("kv_heads"));
        CHECK(about.d_k == checkpoint.at("head_size"));
        CHECK(about.layers == checkpoint.at("layers"));
        std::uint64_t parameters = checkpoint.at("parameters");
        for_each_tensor(checkpoint.at("tensors"), false, [&](const std::string& name, const json& entry) {
          if (!is_in_network(name)) parameters -= count_of(entry[kShape]);
          if (name == "final_logits_bias") parameters += count_of(entry[kShape]);  // a buffer in transformers
        });
        CHECK(about.parameter_count == parameters);
        CHECK(about.unused_tensors.empty());
        const json& windows = checkpoint.at("windows");
        for (std::size_t layer = 0; layer < windows.size(); ++layer) {
          CHECK((loaded.network.layers->encoder[layer].config.window > 0) == windows[layer].get<bool>());
        }
      } catch (const Error& error) {
        FAIL_CHECK(std::string(error.what()));
      }
      verified += checkpoint.at("is_verified").get<bool>() ? 1u : 0u;
      ++count;
    }
    CHECK(count >= 129);
    CHECK(verified >= 110);  // whose published number of parameters is that of the config
  }

  TEST_CASE("well-known checkpoints with small widths compute what transformers computes") {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    for (const json& checkpoint : checkpoints()) {
      CAPTURE(checkpoint.at("name").get<std::string>());
      const json& small = checkpoint.at("small");
      json config = checkpoint.at("config");
      config.update(small.at("config"));
      const TemporaryDirectory folder;
      write_file_atomically(folder.path() / "config.json", config.dump());
      write_file_atomically(folder.path() / "model.safetensors",
                            header_of(checkpoint.at("tensors"), true).first + numbers_of(checkpoint.at("tensors")));
      try {
        const LoadedNetwork loaded = load_network(folder.path());
        GoldenCase one{.name = "line", .input = {.source = line_of(small.at("ids"))}};
        if (!small.at("target").empty()) one.input.target = line_of(small.at("target"));
        const reference::Run run =
            reference::run(loaded.network, one.input, trained_mask(loaded.description, one), -kInfinity);
        const reference::Array& out = small.at("are_logits").get<bool>() ? run.logits : run.encoder_output;
        REQUIRE(!out.values.empty());
        const std::size_t width = out.shape.back(), last = out.values.size() - width;
        for (std::size_t i = 0; i < small.at("picked").size(); ++i) {
          const double expected = small.at("values")[i];
          const double difference = std::abs(out.values[last + small.at("picked")[i].get<std::size_t>()] - expected);
          CHECK(difference / small.at("scale").get<double>() <= 2e-7);  // at most 7.6e-8
        }
      } catch (const Error& error) {
        FAIL_CHECK(std::string(error.what()));
      }
    }
  }
}

}  // namespace checkpoints_test
