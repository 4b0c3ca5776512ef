#include "app/engine/run_source.h"

#include <utility>

#include "app/engine/prompt_lines.h"
#include "inference/notebooks.h"

namespace headlight::app {
namespace {

/// Do both need the same network and input? Masks and gains don't matter, and with a preset nothing else does.
bool have_same_source(const RunInputs& left, const RunInputs& right) {
  if (!left.model.path.empty() || !right.model.path.empty()) {
    return left.model == right.model && left.text == right.text;
  }
  if (!left.preset.empty() || !right.preset.empty()) return left.preset == right.preset;
  return left.playground == right.playground && left.text == right.text && left.key_text == right.key_text;
}

}  // namespace

const RunSource::Source& RunSource::build(const RunInputs& inputs) {
  if (source_.network && have_same_source(inputs, inputs_)) return source_;
  if (!inputs.model.path.empty()) {
    std::shared_ptr<const inference::LanguageModel> model = models_->open(inputs.model.path);
    const model::ModelDescription& description = model->description;
    auto prompt = std::make_shared<const inference::Prompt>(inference::make_prompt(
        *model, prompt_text(inputs, inference::takes_pairs(description), description.is_encoder_decoder)));
    source_ = {.network = model->network, .input = {prompt, &prompt->input}, .model = std::move(model), .prompt = prompt};
  } else if (inputs.preset.empty()) {
    inference::Playground playground =
        inference::make_playground(inputs.playground, inputs.text, inputs.key_text, playground_);
    playground_ = std::move(playground);
    source_ = {.network = playground_.network,
               .input = std::make_shared<const model::ModelInput>(playground_.input),
               .model = nullptr,
               .prompt = nullptr};
  } else {
    inference::Notebook notebook = inference::make_notebook(inputs.preset);
    source_ = {.network = std::move(notebook.network),
               .input = std::make_shared<const model::ModelInput>(std::move(notebook.input)),
               .model = nullptr,
               .prompt = nullptr};
  }
  inputs_ = inputs;
  return source_;
}

RunSource::Source RunSource::with_target(const Translation& translation) const {
  const inference::PromptText text = prompt_text(inputs_, false, false);
  auto prompt = std::make_shared<const inference::Prompt>(translation.prompt(*source_.model, text));
  return {.network = source_.network, .input = {prompt, &prompt->input}, .model = source_.model, .prompt = prompt};
}

}  // namespace headlight::app
