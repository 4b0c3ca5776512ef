#include "inference/language_model.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/notes.h"
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

}  // namespace headlight::inference
