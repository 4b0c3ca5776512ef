#pragma once

#include <functional>

#include "app/state/state.h"

namespace headlight::app {

/// Returns "1 head", "3 heads", "2 biases".
std::string counted(std::size_t count, std::string_view noun);

/// One way in which a state's pass differs from the model's own.
struct ModelChange {
  std::string text;                            ///< "L0H5 knocked out"
  const char* panel = "";                      ///< of settings that has it; empty: none
  std::function<void(State&)> take_back = {};  ///< undoes this change alone
};

/// Lists how masks, head gains, replaced patterns and kept activations differ from those the model was trained with, or the
/// playground's and the notebook's own.
std::vector<ModelChange> list_model_changes(const State& state);

/// Describes these changes: "1 head knocked out · padding off". Empty where there are none.
std::string model_changes(const State& state);

/// Describes the changes of a run, with its stretched positions and rounded weights, which no state knows: "window 4 ·
/// positions stretched 2×". `model`: of the inputs' source; null where that is none. `network`: that was run.
std::string run_changes(const RunInputs& inputs, const inference::LanguageModel* model, const model::Network& network);

/// Returns a line for a figure or a page: "Differs from the trained model: 1 head knocked out". `changes`: run_changes();
/// `compared`: those of the run that is compared with, if any. Empty where neither run was changed.
std::string changes_note(const Source& source, const std::string& changes,
                         const std::optional<std::string>& compared = std::nullopt);

/// Returns "positions stretched 128×"; empty where `used` has the positions of `trained`.
std::string stretch_in_words(const model::Network& trained, const model::Network& used);

}  // namespace headlight::app
