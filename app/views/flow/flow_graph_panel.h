#pragma once

#include "app/frame.h"
#include "app/shapes/table.h"
#include "app/views/flow/flow_layout.h"

namespace headlight::app {

/// The events of the graph in a frame.
struct FlowEvents {
  std::optional<FlowNode> hovered_node;
  std::optional<std::size_t> hovered_edge, clicked_edge;  ///< of FlowLayout::edges
  std::optional<std::size_t> told_edge;                   ///< the pointed-at one, else the strongest into the shown node
};

/// Draws the meaning of a single run's colours in lines as wide as the region: the residual stream, and the number of each
/// head that gives most of an edge.
void draw_flow_legend(Frame& frame, const FlowLayout& layout);

/// Draws nodes, edges, layers and the tokens' names into the region, which scrolls where the columns are wider. Edges that
/// compare two runs have the colours of differences, and those that changed most are named; else the strongest ones are by
/// their heads. The edge that is told of is outlined and named in any case. Above the node at the top is what is predicted.
/// `batch`: the item whose tokens are named.
/// `chosen`: the node that the keyboard has moved to, ringed.
/// `revealed`: a node that is brought into view.
FlowEvents draw_flow_graph(Frame& frame, const FlowLayout& layout, std::uint32_t batch,
                           const std::optional<FlowNode>& chosen, const std::optional<FlowNode>& revealed);

/// Returns "Layer 3: 42 % of “mat” comes from “the”, by heads 2 (30 %), 5 (12 %)."; with the share in the baseline where two
/// runs are compared.
/// `is_most`: it is the strongest edge into its node beside the residual stream's.
Sentence edge_sentence(const Frame& frame, const FlowLayout& layout, const attribution::FlowEdge& edge, std::uint32_t batch,
                       bool is_most = false);

/// Returns "+12 pt", "−0.4 pt": of a share, in points of a hundred.
std::string change_points(double change);
/// Do the method's graphs have a residual stream of a share that the user chooses, whatever the model has?
bool assumes_residual(const Frame& frame);
/// Returns the tokens' texts, with the position after one that another column has too: "a 2".
std::map<std::uint32_t, std::string> token_names(const Frame& frame, const FlowLayout& layout, std::uint32_t batch);

/// Returns "the token vector", "after layer 3": whose state the node is.
std::string place_of(const Frame& frame, const FlowNode& node);

/// Shows the map of the edge's first head, or the layer's mean where heads were averaged, with the edge's cell pinned.
void open_edge(Frame& frame, const attribution::FlowEdge& edge);

/// Returns all edges of the graph as CSV with a header line, then the tokens with their texts. `batch`: the item that it is
/// of.
Table flow_table(const Frame& frame, const FlowLayout& layout, std::uint32_t batch);

/// Returns the reference to an edge's share, with the baseline's where runs are compared. `threshold`: the graph's.
NumberRef edge_number(const Frame& frame, const Choices& choices, const FlowLayout& layout,
                      const attribution::FlowEdge& edge, std::uint32_t batch, float threshold);

/// Returns the reference to the largest flow from the position's token to another one.
NumberRef flow_number(const Choices& choices, const PredictionPosition& position, std::uint32_t to, double value);
/// Returns the reference to a node's MLP share, else to the token that is read of it; none: it predicts nothing, or that
/// isn't known yet.
std::optional<NumberRef> node_number(const EngineResult& result, const FlowNode& node, std::uint32_t batch,
                                     std::optional<double> mlp);

/// Returns "Promoted: “cat” +1.204, …. Suppressed: “dog” −0.311, ….": the tokens whose logits, read after the layer and
/// before it (logit lens), rose and fell most. Empty where nothing is predicted, of token vectors, and while it isn't known.
std::string node_changes(Frame& frame, const FlowNode& node, std::uint32_t batch);

/// Shows what a token's state would predict as it is (logit lens), and the tokens whose logits the layer below it raised and
/// lowered most. `mlp`: the MLP's share of the state, where it is known.
void draw_node_tooltip(Frame& frame, const FlowNode& node, std::uint32_t batch, std::optional<double> mlp);

/// The shares that routes are followed from, in thousandths: the graph at any higher threshold is part of the same finding,
/// so that the slider needn't wait. Low ones reach more tokens, whose parts have to be computed.
inline constexpr std::array<std::uint32_t, 6> kMinShares = {40, 20, 10, 5, 2, 1};
/// Returns the highest of them that a threshold needs.
std::uint32_t least_share(float threshold);

/// The number of edges of attention that an automatic threshold leaves, where the graph has as many. With residual streams
/// these are some 50: enough to see where a prediction comes from, and few enough to point at one.
inline constexpr std::size_t kAutomaticEdges = 30;
std::size_t attention_edges(const std::vector<attribution::FlowEdge>& edges);

/// Returns the largest threshold of two digits from `least` on at which `count`, the edges of attention that are left, is at
/// least kAutomaticEdges; `least` where there is none. `count` must not grow with the threshold.
float automatic_threshold(float least, const std::function<std::size_t(float threshold)>& count);

/// A slider between its name, written before it, and its value, which a handle would cover.
void begin_slider(const Frame& frame, const char* label, float width);
void end_slider(const Frame& frame, const std::string& value);

/// Draws the slider; a double click makes the threshold automatic again. `in_force`: what the graph is drawn with while the
/// threshold is automatic; none: not known yet.
void draw_threshold_slider(Frame& frame, float width, std::optional<float>& threshold, std::optional<float> in_force);

}  // namespace headlight::app
