#include "model/architectures/settings.h"

#include <array>

#include "core/error.h"
#include "model/architectures/families.h"

namespace headlight::model {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMaxNumbers = std::uint64_t{1} << 16;

/// A value that is a number, a string or a list of numbers (one per layer or position); null for others.
json to_json(const GgufValue& value) {
  if (value.count > kMaxNumbers) return {};
  json list = json::array();
  if (const auto integers = value.integers()) {
    list = *integers;
  } else if (const auto numbers = value.numbers()) {
    list = *numbers;
  } else if (const auto booleans = value.booleans()) {
    for (const bool boolean : *booleans) list.push_back(boolean);
  } else if (const auto texts = value.texts(); texts && !value.is_list) {
    list = *texts;
  }
  if (value.is_list) return list.empty() ? json() : list;
  return list.size() == 1 ? list.front() : json();
}

/// The numbers of a small tensor; null when there is none of this name.
json numbers_of(const GgufFile& file, std::string_view name) {
  const StoredTensor* tensor = file.tensors().find(name);
  if (tensor == nullptr) return {};
  if (element_count(tensor->shape) > kMaxNumbers) {
    throw Error("{}: tensor '{}' of shape {} should hold a number for each pair of a head's components", utf8(file.path()),
                name, headlight::to_string(tensor->shape));
  }
  return tensor->tensor().values;
}

/// RoPE scaling, which config.json has in one object. Llama 3's is stored as a factor for each pair.
json rope_scaling(const GgufFile& file, const std::string& architecture) {
  const auto value = [&](std::string_view key) {
    const std::string whole = fmt::format("{}.rope.scaling.{}", architecture, key);
    return file.has(whole) ? to_json(file.value(whole)) : json();
  };
  json scaling{{"rope_type", value("type")},
               {"factor", value("factor")},
               {"original_max_position_embeddings", value("original_context_length")}};
  if (const json factors = numbers_of(file, "rope_freqs.weight"); !factors.is_null()) {
    return {{"rope_type", "longrope"}, {"short_factor", factors}, {"long_factor", factors}, {"attention_factor", 1.0}};
  }
  if (const json factors = numbers_of(file, "rope_factors_long.weight"); !factors.is_null()) {
    scaling["rope_type"] = "longrope";
    scaling["long_factor"] = factors;
    scaling["short_factor"] = numbers_of(file, "rope_factors_short.weight");
    scaling["attention_factor"] = value("attn_factor");
  }
  if (scaling["rope_type"].is_null() || scaling["rope_type"] == "none") return {};
  return scaling;
}

/// Gemma 2 and 3 scale queries by their heads' width, but the largest of each by d_model / heads; the files lack this.
json query_scalar(const json& settings, const std::string& architecture) {
  const auto number = [&](const char* key) { return settings.value(key, json()); };
  const json layers = number("block_count"), width = number("embedding_length"), heads = number("attention.head_count");
  const json head_size = number("attention.key_length");
  const bool is_largest = (architecture == "gemma2" && layers == 46) || (architecture == "gemma3" && layers == 62);
  if (!width.is_number() || !heads.is_number() || heads == 0) return head_size;
  return is_largest || head_size.is_null() ? json(width.get<double>() / heads.get<double>()) : head_size;
}

/// Adds which layers have the window as config.json has it: a truth value for each layer, or a period.
void add_window_layers(json& settings) {
  const json pattern = settings.value("attention.sliding_window_pattern", json());
  if (!pattern.is_array()) {
    settings["sliding_window_pattern"] = pattern;
    return;
  }
  json& types = settings["layer_types"] = json::array();
  for (const json& has_window : pattern) {
    const bool is_set = has_window.is_boolean() ? has_window.get<bool>() : has_window != 0;
    types.push_back(is_set ? "sliding_attention" : "full_attention");
  }
}

}  // namespace

Settings gguf_settings(const GgufFile& file) {
  const std::string architecture = file.text("general.architecture");
  const std::string prefix = architecture + ".";
  json settings{{"model_type", architecture}};
  for (const std::string& key : file.keys()) {
    if (key.starts_with(prefix)) settings[key.substr(prefix.size())] = to_json(file.value(key));
  }
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kTokenizer{{
      {"bos_token_id", "bos_token_id"},
      {"eos_token_id", "eos_token_id"},
      {"padding_token_id", "pad_token_id"},
      {"mask_token_id", "mask_token_id"},
      {"seperator_token_id", "sep_token_id"},  // misspelt in the files
      {"cls_token_id", "cls_token_id"},
      {"token_type_count", "type_vocab_size"},
  }};
  for (const auto& [theirs, ours] : kTokenizer) {
    const std::string key = fmt::format("tokenizer.ggml.{}", theirs);
    if (file.has(key)) settings[std::string(ours)] = to_json(file.value(key));
  }
  const StoredTensor* table = file.tensors().find("token_embd.weight");
  if (table != nullptr && !table->shape.empty()) settings["vocab_size"] = table->shape.front();
  // Converters leave out XLM-RoBERTa's one type, and of BERT's files some count the two positions that they cut off.
  const auto take_rows = [&](std::string_view tensor, const char* key) {
    const StoredTensor* rows = file.tensors().find(tensor);
    if (rows != nullptr && !rows->shape.empty()) settings[key] = rows->shape.front();
  };
  take_rows("token_types.weight", "type_vocab_size");
  if (architecture == "bert") take_rows("position_embd.weight", "context_length");
  settings["rope_scaling"] = rope_scaling(file, architecture);
  settings["query_pre_attn_scalar"] = query_scalar(settings, architecture);
  add_window_layers(settings);
  const auto has_tensor = [&](std::string_view name) { return file.tensors().find(name) != nullptr; };
  settings["tie_word_embeddings"] = !has_tensor("output.weight");
  settings["feed_forward_proj"] = has_tensor("enc.blk.0.ffn_gate.weight") ? "gated-gelu" : "relu";  // T5's
  return Settings(std::move(settings), utf8(file.path()));
}

}  // namespace headlight::model
