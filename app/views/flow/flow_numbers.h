#pragma once

#include "app/frame.h"
#include "app/state/number_ref.h"
#include "app/views/flow/flow_layout.h"

namespace headlight::app {

/// All edges of the graph as CSV with a header line, then the tokens with their texts. `batch`: the item that it is of.
std::string flow_csv(const Frame& frame, const FlowLayout& layout, std::uint32_t batch);

/// What is asked about an edge: its share, and the baseline's where runs are compared. `threshold`: what the graph is
/// drawn with.
NumberRef edge_number(const FlowChoices& flow, const FlowLayout& layout, const attribution::FlowEdge& edge,
                      std::uint32_t batch, float threshold);

}  // namespace headlight::app
