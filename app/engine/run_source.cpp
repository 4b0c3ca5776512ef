#include "app/engine/run_source.h"

#include "app/engine/prompt_lines.h"
#include "app/engine/runner.h"
#include "app/state/run_interventions.h"
#include "capture/captured_run.h"
#include "core/error.h"
#include "inference/notebooks.h"

namespace headlight::app {

const RunSource::Source& RunSource::build(const RunInputs& inputs, const RoomCheck& expect_room) {
  if (source_.network && inputs.source == inputs_.source) return source_;
  source_ = match(
      inputs.source, [&](const Playground& playground) { return build(playground); },
      [&](const Notebook& notebook) { return build(notebook); },
      [&](const Model& model) { return build(model, expect_room); }, [&](const Capture& capture) { return build(capture); });
  inputs_ = inputs;
  reopened_.reset();
  return source_;
}

bool RunSource::forget_changed_model(const RunInputs& inputs) {
  const auto* choice = std::get_if<Model>(&inputs.source);
  const std::string path = choice != nullptr ? choice->path : std::string();
  if (!source_.model || model_path(inputs_.source) != path) return false;
  if (!models_->has_changed(path, *source_.model)) return false;
  reopened_ = models_->open_newest(path);
  source_ = {};
  stretched_ = {};
  return true;
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
  inference::Notebook notebook = inference::make_notebook(choice.name, choice.edits);
  return {.network = std::move(notebook.network),
          .input = std::make_shared<const model::ModelInput>(std::move(notebook.input)),
          .model = nullptr,
          .prompt = nullptr};
}

RunSource::Source RunSource::build(const Model& choice, const RoomCheck& expect_room) {
  std::shared_ptr<const inference::LanguageModel> model = models_->open(choice.path);
  const model::ModelDescription& description = model->description;
  auto prompt = std::make_shared<const inference::Prompt>(inference::make_prompt(
      *model, prompt_text(choice, inference::takes_pairs(description), description.is_encoder_decoder)));
  if (expect_room) expect_room(*model->network, prompt->input);
  std::shared_ptr<const model::Network> network = network_of(*model, choice, prompt->input);
  return {.network = std::move(network), .input = {prompt, &prompt->input}, .model = std::move(model), .prompt = prompt};
}

RunSource::Source RunSource::build(const Capture& choice) {
  auto file = std::make_shared<const capture::CaptureFile>(choice.path);
  return {.network = file->network(), .input = file->input(), .model = nullptr, .prompt = file->prompt(), .capture = file};
}

std::shared_ptr<const model::Network> RunSource::network_of(const inference::LanguageModel& model, const Model& choice,
                                                            const model::ModelInput& input) {
  if (!choice.applies_adapter && !model.without_adapter) {
    throw Error("{} has no LoRA adapter that could be left out", utf8(model.path));
  }
  const std::shared_ptr<const model::Network>& network = choice.applies_adapter ? model.network : model.without_adapter;
  if (!choice.stretches_positions) return network;
  const inference::PositionStretch stretch = inference::needed_stretch(*network, input);
  if (!stretch.is_any()) return network;
  if (stretched_.original != network || stretched_.stretch != stretch) {
    stretched_ = {.original = network, .stretch = stretch, .network = inference::stretch_positions(*network, stretch)};
  }
  return stretched_.network;
}

RunSource::Source RunSource::with_target(const Translation& translation) {
  const Model& choice = std::get<Model>(inputs_.source);
  const inference::PromptText text = prompt_text(choice, false, false);
  auto prompt = std::make_shared<const inference::Prompt>(translation.prompt(*source_.model, text));
  return {.network = network_of(*source_.model, choice, prompt->input),
          .input = {prompt, &prompt->input},
          .model = source_.model,
          .prompt = prompt};
}

std::shared_ptr<const inference::Run> Runner::run_capture(std::shared_ptr<const capture::CaptureFile> file) {
  return std::make_shared<const capture::CapturedRun>(std::move(file));
}

std::shared_ptr<const inference::Run> compute_run(Runner& runner, const RunSource::Source& source, const RunInputs& inputs,
                                                  std::shared_ptr<const inference::Run>&& base) {
  if (source.capture) {
    base.reset();
    return runner.run_capture(source.capture);
  }
  if (dynamic_cast<const capture::CapturedRun*>(base.get()) != nullptr) base.reset();
  return runner.run({.network = source.network,
                     .input = *source.input,
                     .masks = inputs.masks,
                     .interventions = interventions_of(inputs, *source.network)},
                    std::move(base));
}

}  // namespace headlight::app
