#include "app/views/flow/flow_layout.h"

#include <algorithm>

namespace headlight::app {

FlowLayout::FlowLayout(std::vector<attribution::FlowEdge> shown, std::uint32_t all_layers, std::uint32_t start)
    : edges(std::move(shown)), layers(all_layers) {
  nodes.insert({.layer = layers, .token = start});
  for (const attribution::FlowEdge& edge : edges) {
    nodes.insert({.layer = edge.layer, .token = edge.from});
    nodes.insert({.layer = edge.layer + 1, .token = edge.to});
  }
  for (const FlowNode& node : nodes) columns[node.token] = 0;
  std::uint32_t next = 0;
  for (auto& [token, column] : columns) column = next++;
  // The strongest last, so that they are drawn on top.
  std::ranges::stable_sort(edges, {}, &attribution::FlowEdge::share);
}

std::vector<attribution::FlowEdge> connected(const std::vector<attribution::FlowEdge>& edges, std::uint32_t layers,
                                             std::uint32_t start, double threshold) {
  std::vector<std::vector<const attribution::FlowEdge*>> by_layer(layers);
  for (const attribution::FlowEdge& edge : edges) {
    if (edge.share >= threshold && edge.layer < layers) by_layer[edge.layer].push_back(&edge);
  }
  std::vector<attribution::FlowEdge> result;
  std::set<std::uint32_t> reached{start};
  for (std::uint32_t layer = layers; layer-- > 0;) {
    std::set<std::uint32_t> below;
    for (const attribution::FlowEdge* edge : by_layer[layer]) {
      if (!reached.contains(edge->to)) continue;
      below.insert(edge->from);
      result.push_back(*edge);
    }
    reached = std::move(below);
  }
  return result;
}

}  // namespace headlight::app
