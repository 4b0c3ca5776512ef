#pragma once

#include <map>
#include <set>
#include <utility>

#include <glm/vec2.hpp>

#include "attribution/flow_graph.h"

namespace headlight::app {

/// A token's state: after so many layers.
struct FlowNode {
  std::uint32_t layer = 0;
  std::uint32_t token = 0;

  auto operator<=>(const FlowNode&) const = default;
};

/// An edge, whatever its share is.
struct FlowEdgeKey {
  std::uint32_t layer = 0, from = 0, to = 0;
  bool is_residual = false;

  auto operator<=>(const FlowEdgeKey&) const = default;
};
FlowEdgeKey key_of(const attribution::FlowEdge& edge);

/// The places of a graph's nodes: a column for each token that is reached, in the order of the text, and a row for each
/// layer, the token vectors at the bottom.
struct FlowLayout {
  std::vector<attribution::FlowEdge> edges;
  std::set<FlowNode> nodes;                        ///< ends of edges, and the start
  std::map<std::uint32_t, std::uint32_t> columns;  ///< token → its column
  std::uint32_t layers = 0;
  std::uint32_t start = 0;  ///< token of the node after the last layer
  /// Shares in the baseline's graph, where the two are compared: an edge that isn't among them has 0 there. Edges of that
  /// graph alone are among `edges`, with a share of 0.
  std::optional<std::map<FlowEdgeKey, double>> baseline = {};

  FlowLayout() = default;
  FlowLayout(std::vector<attribution::FlowEdge> shown, std::uint32_t all_layers, std::uint32_t from);
  /// Lays out the comparison of two runs of as many layers and tokens.
  FlowLayout(std::vector<attribution::FlowEdge> shown, const std::vector<attribution::FlowEdge>& of_baseline,
             std::uint32_t all_layers, std::uint32_t from);

  /// Returns the edge's share in the baseline; none: nothing is compared.
  std::optional<double> baseline_share(const attribution::FlowEdge& edge) const;
  /// Is it a node of the present run, and not of the baseline alone?
  bool is_present(const FlowNode& node) const;
  /// Returns the largest change of any edge's share in either direction.
  double largest_change() const;
};

/// The direction in which the keyboard moves on a graph.
enum class FlowMove : std::uint8_t {
  Back,     ///< down the strongest edge into the node: where most of it comes from
  Forward,  ///< up the strongest edge out of it
  Left,     ///< to the next token of the same layer that has a node
  Right,
};
/// Returns the node there; `from` itself where there is none, and the start where the graph has no `from`.
FlowNode moved(const FlowLayout& layout, FlowNode from, FlowMove move);

/// Returns the head that gives more than half of an edge; nullopt: none does, or heads were averaged.
std::optional<std::uint32_t> main_head(const attribution::FlowEdge& edge);

/// Returns the strongest edge into a node, by its number in FlowLayout::edges, of those that the present run has; nullopt:
/// there is none.
std::optional<std::size_t> strongest_into(const FlowLayout& layout, FlowNode node, bool has_residual = true);

/// Returns the strongest edge of attention into the node, else that of the residual stream.
std::optional<std::size_t> told_edge_into(const FlowLayout& layout, FlowNode node);

/// Returns the edges of at least `threshold` that are connected with `start`, of graphs whose shares aren't split at every
/// token.
std::vector<attribution::FlowEdge> connected(const std::vector<attribution::FlowEdge>& edges, std::uint32_t layers,
                                             std::uint32_t start, double threshold);

}  // namespace headlight::app
