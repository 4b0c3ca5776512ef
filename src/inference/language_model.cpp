#include "inference/language_model.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/error.h"
#include "core/notes.h"
#include "model/gguf.h"
#include "model/hub_cache.h"
#include "model/lora.h"

namespace headlight::inference {

namespace {

namespace fs = std::filesystem;

attention::MaskSet trained_masks(const model::ModelDescription& description) {
  attention::MaskSet masks;
  const bool has_decoder = description.is_encoder_decoder;
  masks[has_decoder ? model::BlockKind::DecoderSelf : model::BlockKind::EncoderSelf].rule.causal = description.is_causal;
  return masks;
}

/// The tokens that end a segment, as expressions count them: end of text, and the separator of BERT-like models.
std::vector<std::uint32_t> separators(const LanguageModel& model) {
  std::vector<std::uint32_t> ids = model.description.ids.eos;
  if (model.description.ids.separator) ids.push_back(*model.description.ids.separator);
  for (const text::Tokenizer* tokenizer : {model.tokenizer.get(), model.target_tokenizer.get()}) {
    if (tokenizer == nullptr) continue;
    if (tokenizer->special().end) ids.push_back(*tokenizer->special().end);
    if (tokenizer->special().separator) ids.push_back(*tokenizer->special().separator);
  }
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

}  // namespace

std::shared_ptr<const LanguageModel> open_model(const fs::path& name) {
  auto model = std::make_shared<LanguageModel>();
  model->path = find_model(name);
  model::LoadedNetwork loaded = model::load_network(model->path);
  model->description = std::move(loaded.description);
  model->masks = trained_masks(model->description);
  try {
    model->tokenizer = std::make_shared<const text::Tokenizer>(open_tokenizer(model->path));
    model->target_tokenizer = model->tokenizer;
    if (has_target_tokenizer(model->path)) {
      model->target_tokenizer = std::make_shared<const text::Tokenizer>(open_target_tokenizer(model->path));
    }
  } catch (const Error& error) {
    model->tokenizer.reset();
    model->tokenizer_problem = error.what();  // the network can be shown nevertheless: ids do for it
  }
  if (model->description.element_types.contains("F64")) {
    model->notes.push_back(fmt::format("{}: float64 numbers are rounded to float32", utf8(model->path)));
  }
  if (model->tokenizer) std::ranges::copy(model->tokenizer->notes(), std::back_inserter(model->notes));
  try {
    if (model->tokenizer) model->chat = open_chat_template(model->path, *model->tokenizer);
    if (model->chat) {
      if (std::string note = model->chat->note_of_marks(*model->tokenizer); !note.empty())
        model->notes.push_back(std::move(note));
    }
  } catch (const Error& error) {
    model->chat_problem = error.what();  // texts can be shown nevertheless
  }
  std::ranges::for_each(model->notes, add_note);
  model->words = text::read_word_vocabularies(model->path);
  loaded.network.separators = separators(*model);
  model->network = std::make_shared<const model::Network>(std::move(loaded.network));
  if (model::has_adapter(model->path)) {
    model::Network base = model::load_network(model::base_of_adapter(model->path)).network;
    base.separators = model->network->separators;
    model->without_adapter = std::make_shared<const model::Network>(std::move(base));
  }
  return model;
}

const text::ChatTemplate& chat_template(const LanguageModel& model) {
  if (model.chat) return *model.chat;
  if (!model.chat_problem.empty()) throw Error("{}", model.chat_problem);
  throw Error("{} has no chat template: it was trained on texts, not on chats", model.description.name);
}

bool takes_pairs(const model::ModelDescription& description) {
  return !description.is_causal && !description.is_encoder_decoder;
}

fs::path find_model(const fs::path& name) {
  if (name.empty()) throw Error("a model has a name: give its folder or .gguf file");
  std::error_code failure;
  if (fs::is_directory(name, failure) && !fs::exists(name / "config.json", failure)) {
    // A model's folder in the hub's cache has its files further in; a folder may hold nothing but a .gguf file.
    const fs::path folder = fs::weakly_canonical(name, failure);
    const fs::path snapshots = folder / "snapshots";
    const bool is_cached = fs::is_directory(snapshots, failure);
    std::vector<model::FoundModel> found = model::find_models(is_cached ? folder.parent_path() : folder);
    if (is_cached) std::erase_if(found, [&](const auto& model) { return model.path.parent_path() != snapshots; });
    if (found.size() == 1) return found.front().path;
  }
  if (fs::exists(name, failure)) return name;
  const fs::path cache = model::hub_cache_folder();
  const std::vector<model::FoundModel> cached = model::find_models(cache);
  const auto found = std::ranges::find(cached, utf8(name), &model::FoundModel::name);
  if (found != cached.end()) return found->path;
  if (const std::string text = utf8(name); text.find('@') != std::string::npos) {
    const std::size_t at = text.rfind('@');
    return find_model(model::find_revision(cache, text.substr(0, at), text.substr(at + 1)));
  }
  throw Error("{}: there is no such file or folder, and {} has no model of this name", utf8(name), utf8(cache));
}

namespace {

namespace fs = std::filesystem;

/// Does the folder hold anything that text::Tokenizer::load reads?
bool has_tokenizer_files(const fs::path& folder) {
  static constexpr std::array kNames = {"tokenizer.json", "tekken.json", "vocab.json", "vocab.txt"};
  if (std::any_of(kNames.begin(), kNames.end(), [&](const char* name) { return fs::exists(folder / name); })) return true;
  std::error_code failure;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, failure)) {
    for (const char* extension : {".model", ".spm", ".tiktoken"}) {
      if (entry.path().extension() == extension) return true;
    }
  }
  return false;
}

/// The folder's only .gguf file, or the first part of it; empty when it has none or several.
fs::path only_gguf(const fs::path& folder) {
  fs::path found;
  std::error_code failure;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, failure)) {
    if (entry.path().extension() != ".gguf" || model::first_gguf_part(entry.path()) != entry.path()) continue;
    if (!found.empty()) return {};
    found = entry.path();
  }
  return found;
}

std::optional<std::uint32_t> token_id(const model::GgufFile& file, const std::string& key, std::size_t vocabulary) {
  const std::string name = "tokenizer.ggml." + key;
  if (!file.has(name)) return std::nullopt;
  const std::int64_t id = file.integer(name);
  if (id < 0 || static_cast<std::size_t>(id) >= vocabulary) return std::nullopt;  // -1 and the like say "none"
  return static_cast<std::uint32_t>(id);
}

std::optional<bool> choice(const model::GgufFile& file, const std::string& key) {
  const std::string name = "tokenizer.ggml." + key;
  if (!file.has(name)) return std::nullopt;
  return file.boolean(name);
}

text::GgufVocabulary vocabulary_of(const model::GgufFile& file) {
  if (!file.has("tokenizer.ggml.tokens")) throw Error("{} has no tokenizer inside", utf8(file.path()));
  text::GgufVocabulary vocabulary;
  vocabulary.model = file.text_or("tokenizer.ggml.model", "");
  vocabulary.pre_tokenizer = file.text_or("tokenizer.ggml.pre", "");
  vocabulary.tokens = file.texts("tokenizer.ggml.tokens");
  if (file.has("tokenizer.ggml.scores")) {
    for (const double score : file.numbers("tokenizer.ggml.scores")) vocabulary.scores.push_back(static_cast<float>(score));
  }
  if (file.has("tokenizer.ggml.token_type")) {
    for (const std::int64_t type : file.integers("tokenizer.ggml.token_type")) {
      vocabulary.token_types.push_back(static_cast<std::int32_t>(type));
    }
  }
  if (file.has("tokenizer.ggml.precompiled_charsmap")) {
    for (const std::int64_t byte : file.integers("tokenizer.ggml.precompiled_charsmap")) {
      vocabulary.character_map += static_cast<char>(byte);
    }
  }
  if (file.has("tokenizer.ggml.merges")) vocabulary.merges = file.texts("tokenizer.ggml.merges");
  const auto id = [&](const char* key) { return token_id(file, key, vocabulary.tokens.size()); };
  vocabulary.special = {.beginning = id("bos_token_id"),
                        .end = id("eos_token_id"),
                        .padding = id("padding_token_id"),
                        .unknown = id("unknown_token_id"),
                        .mask = id("mask_token_id"),
                        .separator = id("seperator_token_id"),  // the format's own spelling
                        .classification = id("cls_token_id")};
  vocabulary.adds_beginning = choice(file, "add_bos_token");
  vocabulary.adds_end = choice(file, "add_eos_token");
  vocabulary.adds_space_prefix = choice(file, "add_space_prefix");
  return vocabulary;
}

/// The GGUF file that holds a model's tokenizer; empty where its folder does.
fs::path gguf_of(const fs::path& path) {
  if (!fs::is_directory(path) && model::GgufFile::is_gguf(path)) return model::first_gguf_part(path);
  const fs::path folder = fs::is_directory(path) ? path : path.parent_path();
  return has_tokenizer_files(folder) ? fs::path() : only_gguf(folder);
}

fs::path folder_of(const fs::path& path) { return fs::is_directory(path) ? path : path.parent_path(); }

/// Returns the folder of a model's tokenizer: the model's own, or the base model's for a LoRA adapter that comes
/// without a tokenizer.
fs::path tokenizer_folder(const fs::path& path) {
  const fs::path folder = folder_of(path);
  return model::has_adapter(folder) && !has_tokenizer_files(folder) ? model::base_of_adapter(folder) : folder;
}

}  // namespace

bool has_target_tokenizer(const fs::path& name) {
  const fs::path folder = folder_of(find_model(name));
  return fs::exists(folder / "target.spm") && !fs::exists(folder / "tokenizer.json");
}

text::Tokenizer open_target_tokenizer(const fs::path& name) {
  return has_target_tokenizer(name) ? text::Tokenizer::load_target(folder_of(find_model(name))) : open_tokenizer(name);
}

text::Tokenizer open_tokenizer(const fs::path& name) {
  const fs::path path = find_model(name);
  if (!fs::is_directory(path) && !fs::is_regular_file(path)) throw Error("can't open {}: it is not a file", utf8(path));
  const fs::path folder = tokenizer_folder(path), gguf = gguf_of(folder == folder_of(path) ? path : folder);
  text::Tokenizer tokenizer =
      gguf.empty() ? text::Tokenizer::load(folder) : text::Tokenizer::from_gguf(vocabulary_of(model::GgufFile(gguf)));
  std::ranges::for_each(tokenizer.notes(), add_note);
  return tokenizer;
}

std::shared_ptr<const text::ChatTemplate> open_chat_template(const fs::path& path, const text::Tokenizer& tokenizer) {
  const fs::path folder = tokenizer_folder(path), gguf = gguf_of(folder == folder_of(path) ? path : folder);
  if (gguf.empty()) return text::ChatTemplate::load(folder);
  const model::GgufFile file(gguf);
  if (!file.has("tokenizer.chat_template")) return nullptr;
  text::ChatTemplate::Variables variables;
  const text::SpecialTokens& special = tokenizer.special();
  const std::pair<const char*, std::optional<std::uint32_t>> all[] = {{"bos_token", special.beginning},
                                                                      {"eos_token", special.end},
                                                                      {"pad_token", special.padding},
                                                                      {"unk_token", special.unknown}};
  for (const auto& [name, id] : all) {
    if (id) variables.emplace_back(name, tokenizer.token_string(*id));
  }
  return std::make_shared<const text::ChatTemplate>(file.text_or("tokenizer.chat_template", ""), std::move(variables));
}

}  // namespace headlight::inference
