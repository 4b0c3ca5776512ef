#pragma once

#include <cstdint>
#include <optional>

#include "app/frame.h"
#include "app/views/flow/flow_layout.h"

namespace headlight::app {

/// What a token's state would predict as it is (logit lens), and the tokens whose logits the layer below it raised and
/// lowered most. `mlp`: the MLP's share of the state, where it is known.
void draw_node_tooltip(Frame& frame, const FlowNode& node, std::uint32_t batch, std::optional<double> mlp);

}  // namespace headlight::app
