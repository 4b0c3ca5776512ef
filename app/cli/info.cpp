#include "app/cli/subcommands.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "app/cli/model_info.h"
#include "app/models/starter_view.h"
#include "app/state/usage.h"
#include "core/error.h"
#include "core/json.h"
#include "core/tensor.h"
#include "inference/language_model.h"
#include "model/checkpoint.h"
#include "model/hub_cache.h"

namespace headlight::app {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint32_t kUsualTokens = 512;
constexpr std::uint64_t kMostTokens = 1u << 20;

struct InfoFlags {
  std::string model;
  std::optional<std::uint32_t> tokens;
  bool lists_tensors = false;
  bool writes_json = false;
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
  if (flags.writes_json) {
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

/// A found model on one line; an unsupported one with the reason.
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
  Json json = {{"name", found.name}, {"path", found.path.string()}, {"bytes", found.bytes}};
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
  bool writes_json = false;
};

/// The bundled models, each once, then those of the cache.
std::vector<model::FoundModel> all_models() {
  std::vector<model::FoundModel> found;
  std::set<std::filesystem::path> seen;
  std::vector<std::filesystem::path> folders = bundled_folders();
  folders.push_back(model::hub_cache_folder());
  for (const std::filesystem::path& folder : folders) {
    std::error_code failure;
    if (!std::filesystem::is_directory(folder, failure)) continue;
    for (model::FoundModel& one : model::find_models(folder)) {
      if (seen.insert(std::filesystem::weakly_canonical(one.path, failure)).second) found.push_back(std::move(one));
    }
  }
  return found;
}

int run_models(const ModelsFlags& flags) {
  const std::filesystem::path folder =
      flags.folder.empty() ? model::hub_cache_folder() : std::filesystem::path(flags.folder);
  if (!flags.folder.empty() && !std::filesystem::is_directory(folder)) throw Error("{} is no folder", folder.string());
  const std::vector<model::FoundModel> found = flags.folder.empty() ? all_models() : model::find_models(folder);
  if (flags.writes_json) {
    Json models = Json::array();
    for (const model::FoundModel& one : found) models.push_back(json_of(one));
    print(models);
    return 0;
  }
  if (found.empty()) {
    std::cout << fmt::format("no models in {} (hf download puts models into the cache)\n", one_line(folder.string()));
    return 0;
  }
  std::size_t width = 0;
  for (const model::FoundModel& one : found) width = std::max(width, one_line(one.name).size());
  for (const model::FoundModel& one : found) std::cout << line_of(one, width) << std::endl;
  return 0;
}

}  // namespace

Subcommand add_info_command(CLI::App& app) {
  CLI::App* command = add_subcommand(app, "info",
                                     "Describe a model's files\n\n"
                                     "Family, sizes, tokenizer, types of numbers, and the memory that the model takes on "
                                     "the device. Reads no weights.");
  constexpr const char* kModel = "Model";
  const auto flags = std::make_shared<InfoFlags>();
  InfoFlags* into = flags.get();
  add_flag(*command, "--model", "PATH", fmt::format("a model: {}; needed", kModelNames), kModel,
           [=](const std::string& text) { into->model = named_model(text); });
  offer_model_names(*command);
  add_flag(*command, "--tokens", "N", "length of the text for the memory estimate (default 512, or the model's most)",
           kModel, [=](const std::string& text) {
             into->tokens = static_cast<std::uint32_t>(parse_integer("--tokens", text, 1, kMostTokens));
           });
  add_plain_flag(*command, "--tensors", "list every tensor: name, shape, type", kModel, [=] { into->lists_tensors = true; });
  add_plain_flag(*command, "--json", "write JSON", kModel, [=] { into->writes_json = true; });
  set_footer(*command,
             "Examples:\n"
             "  headlight info --model gpt2-folder\n"
             "  headlight info --model openai-community/gpt2 --tokens 1024 --json");
  return {.app = command, .run = [flags] { return run_info(*flags); }};
}

Subcommand add_models_command(CLI::App& app) {
  CLI::App* command = add_subcommand(
      app, "models",
      "List the models on this computer\n\n"
      "The bundled ones, then those in the local Hugging Face cache (HF_HUB_CACHE, HF_HOME/hub or\n"
      "~/.cache/huggingface/hub), with family, layers x heads, parameters and size of their files. --model takes the "
      "names.");
  const auto flags = std::make_shared<ModelsFlags>();
  ModelsFlags* into = flags.get();
  add_flag(*command, "--folder", "DIR", "look into this folder instead", "Model",
           [=](const std::string& text) { into->folder = text; });
  add_plain_flag(*command, "--json", "write JSON", "Model", [=] { into->writes_json = true; });
  return {.app = command, .run = [flags] { return run_models(*flags); }};
}

}  // namespace headlight::app
