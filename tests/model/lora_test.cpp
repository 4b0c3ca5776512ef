// LoRA adapters as PEFT saves them, merged when they are opened.
#include "model/lora.h"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <string>

#include <nlohmann/json.hpp>

#include "core/file.h"
#include "inference/reference_run.h"
#include "model/altered_model.h"
#include "model/checkpoint.h"
#include "model/load_network.h"
#include "model/safetensors.h"
#include "support/error_message.h"
#include "support/golden_model.h"
#include "support/temporary_directory.h"

namespace lora_test {

using namespace headlight;
using namespace headlight::model;
using namespace headlight::test;
using nlohmann::json;

namespace fs = std::filesystem;

namespace {

const fs::path kFolder = fs::path(HEADLIGHT_GOLDEN_DIR) / "lora";

/// The largest difference from PEFT's logits, divided by their root mean square.
double deviation(const std::string& name) {
  const LoadedNetwork model = load_network(kFolder / name);
  const SafetensorsFile golden(kFolder / name / "reference.safetensors");
  GoldenCase one{.name = name};
  for (const std::int64_t id : golden.integers("ids")) one.input.source.ids.push_back(static_cast<std::uint32_t>(id));
  one.input.source.batch = 1;
  one.input.source.length = static_cast<std::uint32_t>(one.input.source.ids.size());
  one.input.source.lengths = {one.input.source.length};
  const reference::Run run = reference::run(model.network, one.input, trained_mask(model.description, one),
                                            -std::numeric_limits<double>::infinity());
  const Tensor expected = golden.tensor("logits");
  const RowDeviation found = row_deviation(expected.shape, run.logits.values, expected.values, one.input.source);
  return found.largest / found.root_square;
}

/// The error of opening gpt2's adapter after a change of its configuration.
template <typename Change>
std::string complaint(const Change& change) {
  const TemporaryDirectory folder;
  fs::copy(kFolder / "gpt2", folder.path(), fs::copy_options::recursive);
  json config = json::parse(read_file(kFolder / "gpt2" / "adapter_config.json"));
  config["base_model_name_or_path"] = golden_model_path("gpt2").string();
  change(config, folder.path());
  write_file_atomically(folder.path() / "adapter_config.json", config.dump());
  const std::string message = error_message([&] { (void)Checkpoint(folder.path()); });
  CHECK((message.empty() || (is_one_line(message) && message.starts_with(folder.path().string()))));
  return message;
}

std::string complaint_with(const char* key, const json& value) {
  return complaint([&](json& config, const fs::path&) { config[key] = value; });
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("merged adapters give the logits that PEFT computes without merging") {
    for (const char* name : {"gpt2", "llama", "gpt2-table", "gpt2-grown", "qwen2-bias"}) {
      CAPTURE(name);
      CHECK(deviation(name) < 1e-6);  // at most 6.1e-7: the merged weights are float32
    }
    const Checkpoint adapter(kFolder / "gpt2");
    CHECK(adapter.files().size() == 2);
    CHECK(fs::equivalent(adapter.folder(), golden_model_path("gpt2")));
    Checkpoint changed(kFolder / "llama"), base(golden_model_path("llama"));
    CHECK(changed.names() == base.names());
    CHECK(changed.find("model.norm.weight").address() != nullptr);
    CHECK(changed.find("model.layers.0.self_attn.k_proj.weight") == base.find("model.layers.0.self_attn.k_proj.weight"));
    CHECK_FALSE(changed.find("model.layers.0.self_attn.q_proj.weight") ==
                base.find("model.layers.0.self_attn.q_proj.weight"));
    CHECK_FALSE(changed.find("lm_head.weight") == base.find("lm_head.weight"));
  }

  TEST_CASE("an adapter's copy of a tied table is the embedding's alone; new tokens are the head's, too") {
    const Network plain = load_network(golden_model_path("gpt2")).network,
                  copied = load_network(kFolder / "gpt2-table").network;
    CHECK(copied.layers->unembedding->linear.weight == plain.source_embedding->table);
    CHECK_FALSE(copied.source_embedding->table == plain.source_embedding->table);
    const LoadedNetwork grown = load_network(kFolder / "gpt2-grown");
    CHECK(grown.description.vocabulary == 133);
    CHECK(grown.network.layers->unembedding->linear.weight == grown.network.source_embedding->table);
    const Network biased = load_network(kFolder / "qwen2-bias").network,
                  unbiased = load_network(golden_model_path("qwen2")).network;
    const auto bias = [](const Network& network) { return network.layers->encoder[1].weights->query.bias; };
    CHECK_FALSE(bias(biased) == bias(unbiased));
  }

  TEST_CASE("names that a model lacks are looked up, however many there are") {
    // 100'000 names that are the end of none of 100'000: compared with each other, they take minutes.
    const TemporaryDirectory base;
    fs::copy(golden_model_path("gpt2"), base.path(), fs::copy_options::recursive);
    const auto fill = [](const fs::path& path, const char* name) {
      Safetensors file(path);
      file.header = json::object();
      for (std::size_t i = 0; i < 100'000; ++i)
        file.header[fmt::format(fmt::runtime(name), i)] = {
            {"dtype", "F32"}, {"shape", {1}}, {"data_offsets", {4 * i, 4 * i + 4}}};
      file.numbers = std::string(400'000, '\0');
      file.write(path);
    };
    fill(base.path() / "model.safetensors", "a.b.c.d.e{}.weight");
    CHECK(holds(complaint([&](json& config, const fs::path& folder) {
                  config["base_model_name_or_path"] = base.path().string();
                  for (std::size_t i = 0; i < 100'000; ++i) {
                    config["modules_to_save"].push_back(fmt::format("y{}", i));
                    config["rank_pattern"][fmt::format("y{}", i)] = i;
                  }
                  fill(folder / "adapter_model.safetensors", "z{}.weight");
                }),
                "it has no tensor of LoRA"));
  }

  TEST_CASE("adapters that can't be merged are refused by what is in them") {
    CHECK(complaint([](json&, const fs::path&) {}).empty());
    CHECK(holds(complaint_with("peft_type", "IA3"), "it is of the kind 'IA3'; merge it in Python"));
    CHECK(holds(complaint_with("use_dora", true), "use_dora is true"));
    CHECK(holds(complaint_with("target_parameters", {"experts"}), R"(target_parameters is ["experts"])"));
    CHECK(holds(complaint_with("init_lora_weights", "pissa"), "init_lora_weights is 'pissa'"));
    CHECK(holds(complaint_with("lora_alpha", "7"), R"(lora_alpha is "7")"));
    CHECK(holds(complaint_with("alpha_pattern", {{"c_.*", 3}}), "alpha_pattern has the expression 'c_.*'"));
    CHECK(holds(complaint_with("alpha_pattern", {{"attn.c_attn", 3}, {"c_attn", 4}}),
                "alpha_pattern gives 'transformer.h.0.attn.c_attn' both 3 and 4"));
    CHECK(holds(complaint_with("r", 4), "'transformer.h.0.attn.c_attn' has rank 3, but its configuration says 4"));
    CHECK(holds(complaint_with("rank_pattern", {{"attn.c_attn", 2}}), "has rank 3, but its configuration says 2"));
    CHECK(complaint_with("rank_pattern", {{".*", 2}}).empty());  // an expression isn't followed: the file has the rank
    CHECK(holds(complaint_with("lora_alpha", 1e60),
                ": with its adapter 'transformer.h.0.attn.c_attn' has numbers that are NaN or infinite: its training"));
    const auto renamed = [](const auto& change) {
      return complaint([&](json&, const fs::path& folder) {
        Safetensors file(folder / "adapter_model.safetensors");
        const std::size_t size = file.numbers.size();
        json header;
        for (const auto& [name, entry] : file.header.items()) change(header, name, entry, size);
        file.header = header;
        file.numbers += file.numbers;
        file.write(folder / "adapter_model.safetensors");
      });
    };
    CHECK(holds(renamed([](json& header, const std::string& name, const json& entry, std::size_t size) {
                  header[name] = entry;
                  const std::size_t at = name.find("transformer.");
                  if (at == std::string::npos) return;
                  json& again = header[name.substr(0, at) + name.substr(at + 12)] = entry;
                  for (json& offset : again["data_offsets"]) offset = offset.get<std::size_t>() + size;
                }),
                "it changes 'transformer.h.0.attn.c_attn.weight' under two names"));
    CHECK(holds(renamed([](json& header, const std::string& name, const json& entry, std::size_t) {
                  const std::size_t at = name.find("attn.c_attn");
                  if (at != std::string::npos) header["base_model.model." + name.substr(at)] = entry;
                }),
                "'attn.c_attn.weight' may be 'transformer.h.0.attn.c_attn.weight' or 'transformer.h.1.attn.c_attn.weight'"));
    CHECK(holds(renamed([](json& header, const std::string& name, const json& entry, std::size_t) {
                  if (name == "__metadata__") header[name] = entry;
                }),
                "it has no tensor of LoRA"));
    CHECK(holds(complaint_with("fan_in_fan_out", false), "of shape [36, 108] can't have B [108, 3] and A [3, 36]"));
    CHECK(holds(complaint_with("base_model_name_or_path", golden_model_path("llama").string()),
                "it changes 'transformer.h.0.attn.c_attn.weight', which its model doesn't have"));
    CHECK(holds(complaint_with("base_model_name_or_path", "nobody/none"),
                "holds a LoRA adapter of 'nobody/none', which is neither a folder nor in "));
    CHECK(holds(complaint_with("base_model_name_or_path", "."), "has neither safetensors nor PyTorch's files"));
    CHECK(holds(complaint([](json&, const fs::path& folder) { fs::remove(folder / "adapter_model.safetensors"); }),
                " has no adapter_model.safetensors: download the whole folder"));
  }
}

}  // namespace lora_test
