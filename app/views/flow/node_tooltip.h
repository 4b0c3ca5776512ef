#pragma once

#include "app/frame.h"
#include "app/views/flow/flow_layout.h"

namespace headlight::app {

/// "Promoted: “cat” +1.204, …. Suppressed: “dog” −0.311, ….": the tokens whose logits, read after the layer and before it
/// (logit lens), rose and fell most. Empty where nothing is predicted, of token vectors, and while it isn't known.
std::string node_changes(Frame& frame, const FlowNode& node, std::uint32_t batch);

/// What a token's state would predict as it is (logit lens), and the tokens whose logits the layer below it raised and
/// lowered most. `mlp`: the MLP's share of the state, where it is known.
void draw_node_tooltip(Frame& frame, const FlowNode& node, std::uint32_t batch, std::optional<double> mlp);

}  // namespace headlight::app
