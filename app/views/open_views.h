#pragma once

#include <memory>

#include "app/state/state.h"
#include "app/views/view.h"

namespace headlight::app {

// A function for each view, in the view's own folder; the table of views calls them.
std::unique_ptr<ViewPanel> open_block_view();
/// Shows metrics, loss and logged numbers over the steps of a training.
std::unique_ptr<ViewPanel> open_checkpoints_view();
/// Shows what every head does over a corpus: the open survey.
std::unique_ptr<ViewPanel> open_corpus_view();
/// Shows where the state of a prediction comes from, as a graph of tokens and layers: information-flow routes, attention
/// rollout or attention flow. Edges below the threshold are left out.
std::unique_ptr<ViewPanel> open_flow_view();
std::unique_ptr<ViewPanel> open_heads_view();
std::unique_ptr<ViewPanel> open_lines_view();
std::unique_ptr<ViewPanel> open_logits_view();
std::unique_ptr<ViewPanel> open_model_view();
std::unique_ptr<ViewPanel> open_neuron_view();
std::unique_ptr<ViewPanel> open_patching_view();
std::unique_ptr<ViewPanel> open_predictions_view();
/// Shows every experiment over a set of prompts: means, spreads, and the prompts.
std::unique_ptr<ViewPanel> open_prompts_view();
std::unique_ptr<ViewPanel> open_side_by_side_view();
std::unique_ptr<ViewPanel> open_text_view();
std::unique_ptr<ViewPanel> open_what_if_view();

/// Folds the unfolded matrix of the view Block; false: none is.
bool fold_block(State& state);

}  // namespace headlight::app
