#include "app/cli/subcommands.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "app/cli/output.h"
#include "app/models/starter_view.h"
#include "app/state/usage.h"
#include "core/error.h"
#include "core/json.h"
#include "core/tensor.h"
#include "core/utf8.h"
#include "inference/language_model.h"
#include "inference/memory_estimate.h"
#include "model/checkpoint.h"
#include "model/hub_cache.h"

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

/// Returns "12 × 12", of an encoder–decoder "6 × 8 + 6 × 8": layers × heads.
std::string layers_by_heads(const model::ModelDescription& about) {
  std::string text = fmt::format("{} × {}", about.layers, about.heads);
  if (about.decoder_layers > 0) text += fmt::format(" + {} × {}", about.decoder_layers, about.decoder_heads);
  return text;
}

/// Returns "124.4 M", "7.24 B".
std::string count_in_words(std::uint64_t count) {
  return scaled(static_cast<double>(count), 1000.0, {"", " k", " M", " B", " T"});
}

}  // namespace

std::string bytes_in_words(std::uint64_t bytes) {
  return scaled(static_cast<double>(bytes), 1024.0, {" bytes", " KiB", " MiB", " GiB", " TiB"});
}

namespace {

std::string types_in_words(const model::ModelDescription& about) {
  std::vector<std::pair<std::string, std::uint32_t>> types(about.element_types.begin(), about.element_types.end());
  std::ranges::stable_sort(types, [](const auto& left, const auto& right) { return left.second > right.second; });
  std::vector<std::string> names;
  for (const auto& [name, count] : types) names.push_back(name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string attention_in_words(const model::ModelDescription& about) {
  std::string text = layers_by_heads(about) + (about.is_encoder_decoder ? " (encoder + decoder)" : "");
  text += fmt::format(", d_model {}, d_k {}", about.d_model, about.d_k);
  if (about.kv_heads != about.heads) text += fmt::format(", {} KV heads", about.kv_heads);
  text += about.is_causal && !about.is_encoder_decoder ? ", causal" : "";
  if (about.window > 0) text += fmt::format(", sliding window {}", about.window);
  return text;
}

/// Returns "60, 4 for each token, and a shared one"; "in 12 of 24 layers" where others are dense.
std::string experts_in_words(const model::ModelDescription& about) {
  std::string text = fmt::format("{}, {} for each token", about.experts, about.experts_per_token);
  if (about.has_shared_expert) text += ", and a shared one";
  if (about.expert_layers < about.layers) text += fmt::format("; in {} of {} layers", about.expert_layers, about.layers);
  return text;
}

std::string parameters_in_words(const model::ModelDescription& about) {
  std::string all = count_in_words(about.parameter_count);
  if (about.experts == 0) return all;
  return fmt::format("{}, of which a token uses {}", all, count_in_words(about.active_parameter_count));
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
  const std::pair<const char*, std::optional<std::uint32_t>> ids[] = {{"beginning", special.beginning},
                                                                      {"end", special.end},
                                                                      {"padding", special.padding},
                                                                      {"unknown", special.unknown},
                                                                      {"mask", special.mask},
                                                                      {"separator", special.separator},
                                                                      {"classification", special.classification}};
  Json tokens = Json::object();
  for (const auto& [name, id] : ids) {
    if (id) tokens[name] = *id;
  }
  return tokens;
}

Json tokenizer_json(const LanguageModel& model) {
  if (!model.tokenizer) return nullptr;
  return {{"kind", model.tokenizer->kind()},
          {"vocabulary", model.tokenizer->vocabulary_size()},
          {"special", special_json(model.tokenizer->special())}};
}

/// Returns the description of a model with a text of `tokens` tokens, as aligned lines.
std::string model_report(const LanguageModel& model, std::uint32_t tokens) {
  const model::ModelDescription& about = model.description;
  std::string text = one_line(about.name) + "\n";
  const auto add = [&](const char* name, const std::string& value) {
    text += fmt::format("  {:<12}{}\n", name, one_line(value));
  };
  add("family", about.family_file.empty() ? fmt::format("{} (model_type {})", about.family, about.model_type)
                                          : fmt::format("{} (described by {})", about.family, about.family_file));
  add("path", utf8(model.path));
  add("attention", attention_in_words(about));
  if (about.experts > 0) add("experts", experts_in_words(about));
  add("vocabulary", vocabulary_in_words(about));
  add("tokenizer", tokenizer_in_words(model));
  if (model.chat || !model.chat_problem.empty()) add("chat", model.chat ? "has a template" : model.chat_problem);
  add("length", length_in_words(about));
  add("parameters", parameters_in_words(about));
  add("file", fmt::format("{}, {}", bytes_in_words(about.file_bytes), types_in_words(about)));
  add("exact", memory_in_words(model, Precision::F32, tokens));
  add("float16", memory_in_words(model, Precision::F16, tokens));
  if (!about.ids_outside.empty()) {
    add("no tokens", fmt::format("{}: not in the vocabulary, so there are none", fmt::join(about.ids_outside, ", ")));
  }
  if (!about.unused_tensors.empty()) {
    add("unused", fmt::format("{} tensors that aren't part of the network, as {}", about.unused_tensors.size(),
                              about.unused_tensors.front()));
  }
  return text;
}

Json model_json(const LanguageModel& model, std::uint32_t tokens) {
  const model::ModelDescription& about = model.description;
  Json json = {
      {"name", about.name},     {"path", utf8(model.path)}, {"family", about.family},    {"model_type", about.model_type},
      {"layers", about.layers}, {"heads", about.heads},     {"kv_heads", about.kv_heads}};
  if (!about.family_file.empty()) json["family_file"] = about.family_file;
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
  if (about.experts > 0) {
    json["active_parameters"] = about.active_parameter_count;
    json["experts"] = {{"count", about.experts},
                       {"per_token", about.experts_per_token},
                       {"layers", about.expert_layers},
                       {"has_shared", about.has_shared_expert}};
  }
  json["file_bytes"] = about.file_bytes;
  json["types"] = about.element_types;
  json["tokenizer"] = tokenizer_json(model);
  json["chat"] = model.chat != nullptr;
  if (!model.chat_problem.empty()) json["chat_problem"] = model.chat_problem;
  if (!model.tokenizer) json["tokenizer_problem"] = model.tokenizer_problem;
  json["device_memory"] = {{"tokens", tokens},
                           {"f32", memory_json(model, Precision::F32, tokens)},
                           {"f16", memory_json(model, Precision::F16, tokens)}};
  json["unused_tensors"] = about.unused_tensors;
  json["ids_outside_vocabulary"] = about.ids_outside;
  json["notes"] = model.notes;
  return json;
}

constexpr std::uint32_t kUsualTokens = 512;
constexpr std::uint64_t kMaxTokens = 1u << 20;

struct InfoFlags {
  std::string model;
  std::optional<std::uint32_t> tokens;
  bool lists_tensors = false;
};

void print(const Json& json) { std::cout << to_text(json) << '\n'; }

Json tensors_json(const model::Checkpoint& checkpoint) {
  Json tensors = Json::array();
  for (const std::string& name : checkpoint.names()) {
    tensors.push_back({{"name", name}, {"shape", checkpoint.shape(name)}, {"type", checkpoint.type(name)}});
  }
  return tensors;
}

int run_info(const InfoFlags& flags) {
  if (flags.model.empty()) throw UsageError("--model is missing: name a model's folder or .gguf file");
  const std::shared_ptr<const inference::LanguageModel> model = inference::open_model(flags.model);
  const model::ModelDescription& about = model->description;
  const std::uint32_t longest = about.is_length_limited ? about.max_length : kUsualTokens;
  const std::uint32_t tokens = flags.tokens.value_or(std::min(kUsualTokens, longest));
  const model::Checkpoint checkpoint(model->path);
  if (output_choice().writes_json) {
    Json json = model_json(*model, tokens);
    if (flags.lists_tensors) json["tensors"] = tensors_json(checkpoint);
    print(json);
    return 0;
  }
  std::cout << model_report(*model, tokens);
  if (!flags.lists_tensors) return 0;
  std::cout << '\n';
  for (const std::string& name : checkpoint.names()) {
    std::cout << fmt::format("{} {} {}\n", one_line(name), headlight::to_string(checkpoint.shape(name)),
                             checkpoint.type(name));
  }
  return 0;
}

/// Returns a found model on one line; an unsupported one with the reason.
std::string line_of(const model::FoundModel& found, std::size_t name_width) {
  try {
    const model::ModelDescription about = model::load_network(found.path).description;
    return fmt::format("{:<{}}  {:<14} {:<17} {:>9}  {}", one_line(found.name), name_width, about.family,
                       layers_by_heads(about), count_in_words(about.parameter_count), bytes_in_words(found.bytes));
  } catch (const Error& error) {
    return fmt::format("{:<{}}  can't be shown: {}", one_line(found.name), name_width, error.what());
  }
}

Json json_of(const model::FoundModel& found) {
  Json json = {{"name", found.name}, {"path", utf8(found.path)}, {"bytes", found.bytes}};
  try {
    const model::ModelDescription about = model::load_network(found.path).description;
    json["family"] = about.family;
    json["layers"] = about.layers;
    json["heads"] = about.heads;
    if (about.is_encoder_decoder) {
      json["decoder_layers"] = about.decoder_layers;
      json["decoder_heads"] = about.decoder_heads;
    }
    json["parameters"] = about.parameter_count;
  } catch (const Error& error) {
    json["problem"] = error.what();
  }
  return json;
}

struct ModelsFlags {
  std::string folder;
};

/// Returns the bundled models, then those of the cache.
std::vector<model::FoundModel> all_models() {
  std::vector<model::FoundModel> found;
  for (const std::filesystem::path& folder : {shared_folder() / "models", model::hub_cache_folder()}) {
    std::error_code failure;
    if (!std::filesystem::is_directory(folder, failure)) continue;
    std::ranges::move(model::find_models(folder), std::back_inserter(found));
  }
  return found;
}

int run_models(const ModelsFlags& flags) {
  const std::filesystem::path folder =
      flags.folder.empty() ? model::hub_cache_folder() : std::filesystem::path(flags.folder);
  if (!flags.folder.empty() && !std::filesystem::is_directory(folder)) throw Error("{} is no folder", utf8(folder));
  const std::vector<model::FoundModel> found = flags.folder.empty() ? all_models() : model::find_models(folder);
  if (output_choice().writes_json) {
    Json models = Json::array();
    for (const model::FoundModel& one : found) models.push_back(json_of(one));
    print(models);
    return 0;
  }
  if (found.empty()) {
    std::cout << fmt::format("no models in {} (hf download puts models into the cache)\n", one_line(utf8(folder)));
    return 0;
  }
  std::size_t width = 0;
  for (const model::FoundModel& one : found) width = std::max(width, one_line(one.name).size());
  for (const model::FoundModel& one : found) std::cout << line_of(one, width) << std::endl;
  return 0;
}

}  // namespace

Subcommand add_info_command(CLI::App& app) {
  const auto [command, flags, made] = begin_subcommand(app, "info", run_info);
  const FlagGroup group(*command, "Model");
  add_model_flag(group, "a model", "; needed", flags->model);
  group.take_count("--tokens", "N", "length of the text for the memory estimate (default 512, or the model's most)",
                   flags->tokens, 1, kMaxTokens);
  group.turn("--tensors", "list every tensor: name, shape, type", flags->lists_tensors);
  return made;
}

Subcommand add_models_command(CLI::App& app) {
  const auto [command, flags, made] = begin_subcommand(app, "models", run_models);
  const FlagGroup group(*command, "Model");
  group.take("--folder", "DIR", "look into this folder instead", flags->folder);
  return made;
}

}  // namespace headlight::app
