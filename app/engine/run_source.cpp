#include "app/engine/run_source.h"

#include <utility>

#include "app/engine/prompt_lines.h"
#include "inference/notebooks.h"

namespace headlight::app {

const RunSource::Source& RunSource::build(const RunInputs& inputs) {
  if (source_.network && inputs.source == inputs_.source) return source_;
  source_ = match(
      inputs.source, [&](const Playground& playground) { return build(playground); },
      [&](const Notebook& notebook) { return build(notebook); }, [&](const Model& model) { return build(model); });
  inputs_ = inputs;
  return source_;
}

RunSource::Source RunSource::build(const Playground& choice) {
  inference::Playground playground = inference::make_playground(choice.settings, choice.text, choice.key_text, playground_);
  playground_ = std::move(playground);
  return {.network = playground_.network,
          .input = std::make_shared<const model::ModelInput>(playground_.input),
          .model = nullptr,
          .prompt = nullptr};
}

RunSource::Source RunSource::build(const Notebook& choice) {
  inference::Notebook notebook = inference::make_notebook(choice.name);
  return {.network = std::move(notebook.network),
          .input = std::make_shared<const model::ModelInput>(std::move(notebook.input)),
          .model = nullptr,
          .prompt = nullptr};
}

RunSource::Source RunSource::build(const Model& choice) {
  std::shared_ptr<const inference::LanguageModel> model = models_->open(choice.path);
  const model::ModelDescription& description = model->description;
  auto prompt = std::make_shared<const inference::Prompt>(inference::make_prompt(
      *model, prompt_text(choice, inference::takes_pairs(description), description.is_encoder_decoder)));
  return {.network = model->network, .input = {prompt, &prompt->input}, .model = std::move(model), .prompt = prompt};
}

RunSource::Source RunSource::with_target(const Translation& translation) const {
  const inference::PromptText text = prompt_text(std::get<Model>(inputs_.source), false, false);
  auto prompt = std::make_shared<const inference::Prompt>(translation.prompt(*source_.model, text));
  return {.network = source_.network, .input = {prompt, &prompt->input}, .model = source_.model, .prompt = prompt};
}

}  // namespace headlight::app
