// The keys of config.json that each family's networks depend on: those in its table, and no others.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/file.h"
#include "inference/reference_run.h"
#include "model/altered_model.h"
#include "model/architectures/families.h"
#include "model/load_network.h"
#include "support/golden_model.h"

namespace config_keys_test {

using namespace headlight;
using namespace headlight::model;
using namespace headlight::test;
using nlohmann::json;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A config of a family: a golden model's, or that of another family with the same keys and tensors, which the family may
/// refuse for its tensors after it has read the keys.
struct Sample {
  const Family* family;
  std::string golden;
  json config;
};

std::vector<Sample> samples() {
  std::vector<Sample> all;
  const auto add = [&](const std::string& golden, const json& config) {
    all.push_back({find_family(config.at("model_type").get<std::string>()), golden, config});
  };
  for (const std::string& name : golden_models()) {
    for (const char* file : {"config.json", "config.v4.json"}) {
      const std::filesystem::path path = golden_model_path(name) / file;
      if (exists(path)) add(name, json::parse(read_file(path)));
    }
  }
  for (const auto& [type, golden] : {std::pair{"mbart", "bart"}, {"pegasus", "bart"}, {"mt5", "t5"}}) {
    json config = json::parse(read_file(golden_model_path(golden) / "config.json"));
    config["model_type"] = type;
    add(golden, config);
  }
  return all;
}

/// Values of every type: where a key is read, most of them are refused, and the others change the network.
std::vector<json> harmful_values(std::size_t layers) {
  return {1,
          0.3,
          false,
          true,
          "relu",
          std::vector<std::string>(layers, "sliding_attention"),
          std::vector<int>(layers, 0),
          json{{"rope_type", "linear"}, {"rope_theta", 5.0}, {"factor", 4.0}, {"hidden_size", 8}, {"0", {1}}},
          json{{"full_attention", {{"rope_theta", 5.0}}}, {"sliding_attention", {{"rope_theta", 5.0}}}}};
}

/// Sets a key of a nested object ("attn_config.clip_qkv") there, where the config has one.
void set(json& config, const std::string& key, const json& value) {
  const std::size_t dot = key.find('.');
  const bool is_nested = dot != std::string::npos && config.contains(key.substr(0, dot));
  (is_nested ? config[key.substr(0, dot)][key.substr(dot + 1)] : config[key]) = value;
}

/// The numbers that a pass computes and the facts that the user sees of the model, or the error.
struct Outcome {
  std::string error, facts;
  std::vector<double> numbers;

  bool operator==(const Outcome&) const = default;
};

Outcome outcome_of(const std::string& golden, const json& config) {
  static std::map<std::string, GoldenCase> cases;
  if (!cases.contains(golden)) cases[golden] = load_golden_cases(golden).front();
  Outcome outcome;
  bool is_loaded = false;
  try {
    const LoadedNetwork loaded = load_network(Checkpoint(golden_model_path(golden)), config.dump());
    is_loaded = true;
    const ModelDescription& about = loaded.description;
    outcome.facts =
        fmt::format("{} {} {} {} {}", about.heads, about.kv_heads, about.max_length, about.window, about.is_causal);
    GoldenCase input = cases.at(golden);
    check(loaded.network, input.input);
    const reference::Run run = reference::run(loaded.network, input.input, trained_mask(about, input), -kInfinity);
    const auto add = [&](const reference::Array& array) {
      outcome.numbers.insert(outcome.numbers.end(), array.values.begin(), array.values.end());
    };
    for (const auto& stages : run.stages) add(stages[attention::Stage::Weights]);
    for (const reference::Array* last : {&run.encoder_output, &run.decoder_output, &run.logits}) add(*last);
  } catch (const Error& error) {
    outcome.error = error.what();
    const json type = config.value("model_type", json(""));
    const std::string hint = type.is_string() ? capture_hint(type.get<std::string>()) : "";
    if (!is_loaded) CHECK_MESSAGE(outcome.error.ends_with(hint), outcome.error);
  }
  return outcome;
}

/// The first logits of the last token of a golden model's first case, or numbers of its last state.
Result<std::vector<double>> last_numbers(const std::string& golden, const json& config) {
  static std::map<std::string, GoldenCase> cases;
  if (!cases.contains(golden)) cases[golden] = load_golden_cases(golden).front();
  try {
    const LoadedNetwork loaded = load_network(Checkpoint(golden_model_path(golden)), config.dump());
    GoldenCase input = cases.at(golden);
    check(loaded.network, input.input);
    const reference::Run run =
        reference::run(loaded.network, input.input, trained_mask(loaded.description, input), -kInfinity);
    const reference::Array& last = !run.logits.values.empty() ? run.logits : run.encoder_output;
    const std::size_t width = last.shape.back();
    return std::vector<double>(last.values.end() - static_cast<std::ptrdiff_t>(width), last.values.end());
  } catch (const Error& error) {
    return Failure{error.what()};
  }
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("keys that a family doesn't read change nothing, whatever their value") {
    std::set<std::string_view> known;
    for (const Family* family : folder_families()) {
      for (const std::string_view key : keys_of(*family)) known.insert(key);
    }
    for (const char* key : {"pad_token_id", "mask_token_id"}) known.erase(key);  // all read them as ids of tokens
    CHECK(known.size() > 80);
    for (const Sample& sample : samples()) {
      CAPTURE(sample.golden);
      CAPTURE(sample.family->name);
      std::vector<std::string> foreign;
      for (const std::string_view key : known) {
        if (!reads(*sample.family, key)) foreign.emplace_back(key);
      }
      const Outcome own = outcome_of(sample.golden, sample.config);
      for (const json& value : harmful_values(2)) {
        json config = sample.config;
        for (const std::string& key : foreign) config[key] = value;
        if (outcome_of(sample.golden, config) == own) continue;
        for (const std::string& key : foreign) {
          config = sample.config;
          config[key] = value;
          CAPTURE(key);
          CAPTURE(value.dump());
          CHECK(outcome_of(sample.golden, config) == own);
        }
      }
    }
  }

  TEST_CASE("each key of a family's table is read: a harmful value changes the network or is refused") {
    std::map<const Family*, std::set<std::string>> unread;
    for (const Family* family : folder_families()) {
      for (const std::string_view key : keys_of(*family)) unread[family].emplace(key);
    }
    unread[find_family("esm")].erase("rope_theta");  // its files hold the frequencies: load_network_test
    for (const Sample& sample : samples()) {
      std::set<std::string>& left = unread[sample.family];
      std::vector<json> bases{sample.config};
      if (reads(*sample.family, "rope_scaling")) {
        // Some keys matter where there is scaling alone.
        bases.push_back(sample.config);
        const bool is_phi = sample.family->is_yarn_longrope;
        bases.back()["rope_scaling"] = {{"rope_type", is_phi ? "default" : "yarn"}, {"factor", 4.0}};
      }
      // Lists of layers take precedence over what describes all of them.
      for (const char* list : {"layer_types", "attention_layers"}) {
        if (!sample.config.contains(list)) continue;
        bases.push_back(sample.config);
        bases.back().erase(list);
      }
      for (const json& base : bases) {
        const Outcome own = outcome_of(sample.golden, base);
        std::erase_if(left, [&](const std::string& key) {
          return std::ranges::any_of(harmful_values(2), [&](const json& value) {
            json config = base;
            set(config, key, value);
            return outcome_of(sample.golden, config) != own;
          });
        });
      }
    }
    for (const auto& left : unread) {
      const Family& family = *left.first;
      CAPTURE(family.name);
      for (const std::string& key : left.second) FAIL_CHECK(key);
    }
  }

  TEST_CASE("a config that leaves keys out has transformers' defaults") {
    const auto without = [](const char* golden, std::initializer_list<const char*> keys) {
      json config = json::parse(read_file(golden_model_path(golden) / "config.json"));
      for (const char* key : keys) config.erase(key);
      return load_network(Checkpoint(golden_model_path(golden)), config.dump()).network;
    };
    const Network gemma2 = without("gemma2", {"attn_logit_softcapping", "final_logit_softcapping"});
    CHECK(gemma2.layers->encoder.front().config.softcap == 50.0f);
    CHECK(gemma2.layers->unembedding->softcap == 30.0f);
    CHECK(without("albert", {"num_hidden_groups"}).layers->encoder.size() == 3);
  }

  TEST_CASE("a key that is absent or null means what it means in transformers, or is refused") {
    const json golden = json::parse(read_file(std::filesystem::path(HEADLIGHT_GOLDEN_DIR) / "config_defaults.json"));
    std::size_t compared = 0, refused = 0;
    for (const auto& of_file : golden.items()) {
      const std::string& file = of_file.key();
      const json& row = of_file.value();
      const std::string model = file.substr(0, file.find('/'));
      const json config = json::parse(read_file(golden_model_path(model).parent_path() / file));
      const json results = row["results"];
      for (const auto& of_key : row["keys"].items()) {
        const std::string& key = of_key.key();
        for (const bool is_null : {false, true}) {
          const int place = of_key.value()[is_null ? 1 : 0];
          if (place < 0) continue;  // transformers can't open it
          json changed = config;
          changed.erase(key);
          if (is_null) changed[key] = nullptr;
          CAPTURE(file);
          CAPTURE(key);
          CAPTURE(is_null);
          const Result<std::vector<double>> found = last_numbers(model, changed);
          ++compared;
          if (!found) {
            ++refused;
            // Sizes have to be in the file, null may select what isn't computed, and transformers leaves out what it doesn't
            // know.
            const bool is_known = holds(found.error(), " is missing, but must be ") ||
                                  holds(found.error(), " is null, but must be ") ||
                                  holds(found.error(), " is no part of the ");
            CHECK_MESSAGE(is_known, found.error());
            continue;
          }
          double largest = 0.0, apart = 0.0;
          for (std::size_t i = 0; i < results[0].size(); ++i) {
            const double expected = results[static_cast<std::size_t>(place)][i];
            largest = std::max(largest, std::abs(expected));
            apart = std::max(apart, std::abs(found.value()[i] - expected));
          }
          CHECK(apart / largest < 1e-4);
        }
      }
    }
    CHECK(compared > 2000);
    CHECK(refused < 90);
  }

  TEST_CASE("SmolLM 3's window is that of the layers without rotary positions") {
    // transformers 5.24: use_sliding_window alone chooses those; layer_types is followed with and without it.
    json config = json::parse(read_file(golden_model_path("smollm3") / "config.json"));
    const auto windows = [&](const json& changes) {
      json changed = config;
      changed.erase("layer_types");
      changed.update(changes);
      std::vector<std::uint32_t> found;
      const LoadedNetwork loaded = load_network(Checkpoint(golden_model_path("smollm3")), changed.dump());
      for (const AttentionLayer& layer : loaded.network.layers->encoder) found.push_back(layer.config.window);
      return found;
    };
    using Windows = std::vector<std::uint32_t>;
    CHECK(windows({{"sliding_window", 3}, {"use_sliding_window", false}, {"no_rope_layers", {1, 0}}}) == Windows{0, 0});
    CHECK(windows({{"sliding_window", 3}, {"use_sliding_window", true}, {"no_rope_layers", {1, 0}}}) == Windows{0, 3});
    CHECK(windows({{"sliding_window", 3},
                   {"use_sliding_window", false},
                   {"layer_types", {"sliding_attention", "full_attention"}}}) == Windows{3, 0});
  }
}

}  // namespace config_keys_test
