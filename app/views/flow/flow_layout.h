#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <glm/vec2.hpp>

#include "attribution/flow_graph.h"

namespace headlight::app {

/// A token's state: after so many layers.
struct FlowNode {
  std::uint32_t layer = 0;
  std::uint32_t token = 0;

  auto operator<=>(const FlowNode&) const = default;
};

/// Where a graph's nodes are: a column for each token that is reached, in the order of the text, and a row for each layer,
/// the token vectors at the bottom.
struct FlowLayout {
  std::vector<attribution::FlowEdge> edges;
  std::set<FlowNode> nodes;                        ///< ends of edges, and the start
  std::map<std::uint32_t, std::uint32_t> columns;  ///< token → its column
  std::uint32_t layers = 0;
  std::uint32_t start = 0;  ///< token of the node after the last layer

  FlowLayout() = default;
  FlowLayout(std::vector<attribution::FlowEdge> shown, std::uint32_t all_layers, std::uint32_t from);
};

/// Where the keyboard goes on a graph.
enum class FlowMove : std::uint8_t {
  Back,     ///< down the strongest edge into the node: where most of it comes from
  Forward,  ///< up the strongest edge out of it
  Left,     ///< to the next token of the same layer that has a node
  Right,
};
/// The node there; `from` itself where there is none, and the start where the graph has no `from`.
FlowNode moved(const FlowLayout& layout, FlowNode from, FlowMove move);

/// The strongest edge into a node, by its number in FlowLayout::edges; nullopt: there is none.
std::optional<std::size_t> strongest_into(const FlowLayout& layout, FlowNode node);

/// Edges of at least `threshold` that are connected with `start`, of graphs whose shares aren't split at every token.
std::vector<attribution::FlowEdge> connected(const std::vector<attribution::FlowEdge>& edges, std::uint32_t layers,
                                             std::uint32_t start, double threshold);

}  // namespace headlight::app
