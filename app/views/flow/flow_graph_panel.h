#pragma once

#include "app/frame.h"
#include "app/views/flow/flow_layout.h"

namespace headlight::app {

/// What happened on the graph in a frame.
struct FlowEvents {
  std::optional<FlowNode> hovered_node;
  std::optional<std::size_t> hovered_edge, clicked_edge;  ///< of FlowLayout::edges
};

/// What the colours of a single run's edges say: the residual stream, and for each head that an edge is coloured by its
/// number. In lines as wide as the region.
void draw_flow_legend(Frame& frame, const FlowLayout& layout);

/// Draws nodes, edges, layers and the tokens' names into the region, which scrolls where the columns are wider.
/// Of two runs edges have the colours of differences, and those that changed most are named.
/// `batch`: whose tokens are named.
/// `chosen`: the node that the keyboard has moved to, ringed, with the strongest edge into it.
/// `revealed`: a node that is brought into view.
FlowEvents draw_flow_graph(Frame& frame, const FlowLayout& layout, std::uint32_t batch,
                           const std::optional<FlowNode>& chosen, const std::optional<FlowNode>& revealed);

/// "layer 3: 42 % from “the” to “mat”, by heads 2 (30 %) and 5 (12 %)"; of two runs with the share in the baseline.
std::string edge_text(const Frame& frame, const FlowLayout& layout, const attribution::FlowEdge& edge, std::uint32_t batch);

/// "+12 pt", "−0.4 pt": of a share, in points of a hundred.
std::string change_points(double change);

/// Shows the map of the edge's first head, or the layer's mean where heads were averaged, with the edge's cell pinned.
void open_edge(Frame& frame, const attribution::FlowEdge& edge);

}  // namespace headlight::app
