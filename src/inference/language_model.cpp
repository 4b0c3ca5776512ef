#include "inference/language_model.h"

#include <utility>

#include "core/error.h"
#include "model/checkpoint.h"

namespace headlight::inference {
namespace {

namespace fs = std::filesystem;

attention::MaskSet trained_masks(const model::ModelDescription& description) {
  attention::MaskSet masks;
  const bool has_decoder = description.is_encoder_decoder;
  masks[has_decoder ? model::BlockKind::DecoderSelf : model::BlockKind::EncoderSelf].rule.causal = description.is_causal;
  return masks;
}

}  // namespace

std::shared_ptr<const LanguageModel> open_model(const fs::path& name) {
  auto model = std::make_shared<LanguageModel>();
  model->path = find_model(name);
  model::LoadedNetwork loaded = model::load_network(model->path);
  model->network = std::make_shared<const model::Network>(std::move(loaded.network));
  model->description = std::move(loaded.description);
  model->masks = trained_masks(model->description);
  try {
    model->tokenizer = std::make_shared<const text::Tokenizer>(open_tokenizer(model->path));
  } catch (const Error& error) {
    model->tokenizer_problem = error.what();  // the network can be shown nevertheless: ids do for it
  }
  return model;
}

fs::path find_model(const fs::path& name) {
  if (name.empty()) throw Error("a model has a name: give its folder or .gguf file");
  std::error_code failure;
  if (fs::exists(name, failure)) return name;
  throw Error("{}: no such folder or file, and no such model in the local Hugging Face cache", name.string());
}

}  // namespace headlight::inference
