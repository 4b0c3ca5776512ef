#pragma once

#include <functional>

#include "app/engine/model_cache.h"
#include "app/engine/translation.h"
#include "app/state/state.h"
#include "capture/capture_file.h"
#include "inference/language_model.h"
#include "inference/playground.h"
#include "inference/stretch_positions.h"
#include "model/network.h"

namespace headlight::app {

/// Builds a network and its input from the user's choices, and keeps the last ones: a changed text doesn't draw the weights
/// or open the model again, a changed mask rebuilds nothing.
class RunSource {
 public:
  struct Source {
    std::shared_ptr<const model::Network> network;
    std::shared_ptr<const model::ModelInput> input;
    std::shared_ptr<const inference::LanguageModel> model;  ///< none: playground or notebook
    std::shared_ptr<const inference::Prompt> prompt;        ///< of the model's text, or of a capture; else none
    /// Whose numbers are read in place of a pass; the network has no weights then. None: a network's.
    std::shared_ptr<const capture::CaptureFile> capture = nullptr;
  };

  explicit RunSource(std::shared_ptr<ModelCache> models = std::make_shared<ModelCache>()) : models_(std::move(models)) {}

  /// Has the device room for a run? Throws Error where it hasn't.
  using RoomCheck = std::function<void(const model::Network& network, const model::ModelInput& input)>;

  /// Throws Error in one line (see inference::open_model, inference::make_prompt, inference::make_playground,
  /// inference::make_notebook); then the last source stays. `expect_room` is called for a model's text before anything is
  /// made for its length, as a longer table of positions is.
  const Source& build(const RunInputs& inputs, const RoomCheck& expect_room = {});

  /// Are the inputs of the last source's model, and has it been written or replaced on disk since it was opened? Then it is
  /// forgotten, and build() takes it as it is now. Throws Error in one line when it can't be opened any more; then the last
  /// source stays.
  bool forget_changed_model(const RunInputs& inputs);

  /// The last source, an encoder–decoder's, with what it has translated so far as its target.
  Source with_target(const Translation& translation);

 private:
  Source build(const Playground& choice);
  Source build(const Notebook& choice);
  Source build(const Model& choice, const RoomCheck& expect_room);
  Source build(const Capture& choice);
  /// The model's network, without its adapter or with its positions stretched where the choice says so and, of positions,
  /// the input needs it.
  std::shared_ptr<const model::Network> network_of(const inference::LanguageModel& model, const Model& choice,
                                                   const model::ModelInput& input);

  std::shared_ptr<ModelCache> models_;
  RunInputs inputs_;
  Source source_;
  inference::Playground playground_;
  inference::StretchedNetwork stretched_;                     ///< the last one
  std::shared_ptr<const inference::LanguageModel> reopened_;  ///< held until build() takes it
};

}  // namespace headlight::app
