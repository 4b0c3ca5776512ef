#include "app/cli/model_info.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/ranges.h>

#include "core/utf8.h"
#include "inference/memory_estimate.h"

namespace headlight::app {
namespace {

using Json = nlohmann::ordered_json;
using inference::LanguageModel;
using inference::Precision;

std::string scaled(double value, double step, const std::vector<const char*>& units) {
  std::size_t unit = 0;
  while (value >= step && unit + 1 < units.size()) {
    value /= step;
    ++unit;
  }
  const int decimals = unit == 0 ? 0 : value < 10.0 ? 2 : 1;
  return fmt::format("{:.{}f}{}", value, decimals, units[unit]);
}

std::string attention_in_words(const model::ModelDescription& about) {
  std::string text = layers_by_heads(about) + (about.is_encoder_decoder ? " (encoder + decoder)" : "");
  text += fmt::format(", d_model {}, d_k {}", about.d_model, about.d_k);
  if (about.kv_heads != about.heads) text += fmt::format(", {} KV heads", about.kv_heads);
  text += about.is_causal && !about.is_encoder_decoder ? ", causal" : "";
  if (about.window > 0) text += fmt::format(", sliding window {}", about.window);
  return text;
}

std::string length_in_words(const model::ModelDescription& about) {
  if (about.max_length == 0) return "any";
  return fmt::format("{} tokens{}", about.max_length, about.is_length_limited ? " at most" : " in training");
}

std::string vocabulary_in_words(const model::ModelDescription& about) {
  std::string text = std::to_string(about.vocabulary);
  if (about.target_vocabulary > 0 && about.target_vocabulary != about.vocabulary) {
    text += fmt::format(", {} of the target", about.target_vocabulary);
  }
  return text + (about.has_logits ? "" : ", no logits");
}

std::string tokenizer_in_words(const LanguageModel& model) {
  if (!model.tokenizer) return "none: " + model.tokenizer_problem;
  return fmt::format("{}, {} tokens", model.tokenizer->kind(), model.tokenizer->vocabulary_size());
}

std::string memory_in_words(const LanguageModel& model, Precision precision, std::uint32_t tokens) {
  const inference::MemoryEstimate memory = inference::estimate_memory(*model.network, precision, tokens);
  return fmt::format("{} on the device ({} weights, {} for {} tokens)", bytes_in_words(memory.total()),
                     bytes_in_words(memory.weights), bytes_in_words(memory.run), tokens);
}

Json memory_json(const LanguageModel& model, Precision precision, std::uint32_t tokens) {
  const inference::MemoryEstimate memory = inference::estimate_memory(*model.network, precision, tokens);
  return {{"weights", memory.weights}, {"run", memory.run}, {"total", memory.total()}};
}

Json special_json(const text::SpecialTokens& special) {
  Json tokens = Json::object();
  const auto add = [&](const char* name, const std::optional<std::uint32_t>& id) {
    if (id) tokens[name] = *id;
  };
  add("beginning", special.beginning);
  add("end", special.end);
  add("padding", special.padding);
  add("unknown", special.unknown);
  add("mask", special.mask);
  add("separator", special.separator);
  add("classification", special.classification);
  return tokens;
}

Json tokenizer_json(const LanguageModel& model) {
  if (!model.tokenizer) return nullptr;
  return {{"kind", model.tokenizer->kind()},
          {"vocabulary", model.tokenizer->vocabulary_size()},
          {"special", special_json(model.tokenizer->special())}};
}

}  // namespace

std::string layers_by_heads(const model::ModelDescription& about) {
  std::string text = fmt::format("{} × {}", about.layers, about.heads);
  if (about.decoder_layers > 0) text += fmt::format(" + {} × {}", about.decoder_layers, about.decoder_heads);
  return text;
}

std::string count_in_words(std::uint64_t count) {
  return scaled(static_cast<double>(count), 1000.0, {"", " k", " M", " B", " T"});
}

std::string bytes_in_words(std::uint64_t bytes) {
  return scaled(static_cast<double>(bytes), 1024.0, {" bytes", " KiB", " MiB", " GiB", " TiB"});
}

std::string types_in_words(const model::ModelDescription& about) {
  std::vector<std::pair<std::string, std::uint32_t>> types(about.element_types.begin(), about.element_types.end());
  std::ranges::stable_sort(types, [](const auto& left, const auto& right) { return left.second > right.second; });
  std::vector<std::string> names;
  for (const auto& [name, count] : types) names.push_back(name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string model_report(const LanguageModel& model, std::uint32_t tokens) {
  const model::ModelDescription& about = model.description;
  std::string text = one_line(about.name) + "\n";
  const auto add = [&](const char* name, const std::string& value) {
    text += fmt::format("  {:<12}{}\n", name, one_line(value));
  };
  add("family", fmt::format("{} (model_type {})", about.family, about.model_type));
  add("path", model.path.string());
  add("attention", attention_in_words(about));
  add("vocabulary", vocabulary_in_words(about));
  add("tokenizer", tokenizer_in_words(model));
  add("length", length_in_words(about));
  add("parameters", count_in_words(about.parameter_count));
  add("file", fmt::format("{}, {}", bytes_in_words(about.file_bytes), types_in_words(about)));
  add("f32", memory_in_words(model, Precision::F32, tokens));
  add("f16", memory_in_words(model, Precision::F16, tokens));
  if (!about.ids_outside.empty()) {
    add("no tokens", fmt::format("{}: not in the vocabulary, so there are none", fmt::join(about.ids_outside, ", ")));
  }
  if (!about.unused_tensors.empty()) {
    add("unused", fmt::format("{} tensors that aren't part of the network, as {}", about.unused_tensors.size(),
                              about.unused_tensors.front()));
  }
  return text;
}

nlohmann::ordered_json model_json(const LanguageModel& model, std::uint32_t tokens) {
  const model::ModelDescription& about = model.description;
  Json json = {
      {"name", about.name},     {"path", model.path.string()}, {"family", about.family},    {"model_type", about.model_type},
      {"layers", about.layers}, {"heads", about.heads},        {"kv_heads", about.kv_heads}};
  if (about.is_encoder_decoder) {
    json["decoder_layers"] = about.decoder_layers;
    json["decoder_heads"] = about.decoder_heads;
  }
  json["d_model"] = about.d_model;
  json["d_k"] = about.d_k;
  json["vocabulary"] = about.vocabulary;
  if (about.is_encoder_decoder) json["target_vocabulary"] = about.target_vocabulary;
  json["max_length"] = about.max_length == 0 ? Json(nullptr) : Json(about.max_length);
  json["is_length_limited"] = about.is_length_limited;
  json["window"] = about.window == 0 ? Json(nullptr) : Json(about.window);
  json["is_causal"] = about.is_causal;
  json["is_encoder_decoder"] = about.is_encoder_decoder;
  json["has_logits"] = about.has_logits;
  json["parameters"] = about.parameter_count;
  json["file_bytes"] = about.file_bytes;
  json["types"] = about.element_types;
  json["tokenizer"] = tokenizer_json(model);
  if (!model.tokenizer) json["tokenizer_problem"] = model.tokenizer_problem;
  json["device_memory"] = {{"tokens", tokens},
                           {"f32", memory_json(model, Precision::F32, tokens)},
                           {"f16", memory_json(model, Precision::F16, tokens)}};
  json["unused_tensors"] = about.unused_tensors;
  json["ids_outside_vocabulary"] = about.ids_outside;
  return json;
}

}  // namespace headlight::app
