#include "app/views/flow/flow_layout.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace headlight::app {

namespace {

/// Returns the edges and those of the baseline alone, whose share is 0.
std::vector<attribution::FlowEdge> with_baseline(std::vector<attribution::FlowEdge> edges,
                                                 const std::vector<attribution::FlowEdge>& of_baseline) {
  std::set<FlowEdgeKey> known;
  for (const attribution::FlowEdge& edge : edges) known.insert(key_of(edge));
  for (attribution::FlowEdge edge : of_baseline) {
    if (known.contains(key_of(edge))) continue;
    edge.share = 0.0;
    edge.heads.clear();
    edges.push_back(std::move(edge));
  }
  return edges;
}

}  // namespace

FlowLayout::FlowLayout(std::vector<attribution::FlowEdge> shown, std::uint32_t all_layers, std::uint32_t from)
    : edges(std::move(shown)), layers(all_layers), start(from) {
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

FlowEdgeKey key_of(const attribution::FlowEdge& edge) {
  return {.layer = edge.layer, .from = edge.from, .to = edge.to, .is_residual = edge.is_residual};
}

FlowLayout::FlowLayout(std::vector<attribution::FlowEdge> shown, const std::vector<attribution::FlowEdge>& of_baseline,
                       std::uint32_t all_layers, std::uint32_t from)
    : FlowLayout(with_baseline(std::move(shown), of_baseline), all_layers, from) {
  baseline.emplace();
  for (const attribution::FlowEdge& edge : of_baseline) baseline->emplace(key_of(edge), edge.share);
}

std::optional<double> FlowLayout::baseline_share(const attribution::FlowEdge& edge) const {
  if (!baseline) return std::nullopt;
  const auto found = baseline->find(key_of(edge));
  return found == baseline->end() ? 0.0 : found->second;
}

bool FlowLayout::is_present(const FlowNode& node) const {
  if (!baseline || node == FlowNode{.layer = layers, .token = start}) return true;
  return std::ranges::any_of(edges, [&](const attribution::FlowEdge& edge) {
    const FlowNode from{.layer = edge.layer, .token = edge.from}, to{.layer = edge.layer + 1, .token = edge.to};
    return edge.share > 0.0 && (from == node || to == node);
  });
}

double FlowLayout::largest_change() const {
  double largest = 0.0;
  for (const attribution::FlowEdge& edge : edges) {
    largest = std::max(largest, std::abs(edge.share - baseline_share(edge).value_or(edge.share)));
  }
  return largest;
}

std::optional<std::size_t> strongest_into(const FlowLayout& layout, FlowNode node, bool has_residual) {
  for (std::size_t i = layout.edges.size(); i-- > 0;) {  // ascending by share
    const attribution::FlowEdge& edge = layout.edges[i];
    if (edge.layer + 1 == node.layer && edge.to == node.token && edge.share > 0.0 && (has_residual || !edge.is_residual))
      return i;
  }
  return std::nullopt;
}

std::optional<std::size_t> told_edge_into(const FlowLayout& layout, FlowNode node) {
  const std::optional<std::size_t> most = strongest_into(layout, node, false);
  return most ? most : strongest_into(layout, node);
}

std::optional<std::uint32_t> main_head(const attribution::FlowEdge& edge) {
  const bool is_one = !edge.heads.empty() && edge.heads.front().share > 0.5 * edge.share;
  return is_one ? std::optional(edge.heads.front().head) : std::nullopt;
}

FlowNode moved(const FlowLayout& layout, FlowNode from, FlowMove move) {
  const auto at = layout.nodes.find(from);
  if (at == layout.nodes.end()) return {.layer = layout.layers, .token = layout.start};
  if (move == FlowMove::Back) {
    const std::optional<std::size_t> edge = strongest_into(layout, from);
    return edge ? FlowNode{.layer = from.layer - 1, .token = layout.edges[*edge].from} : from;
  }
  if (move == FlowMove::Forward) {
    for (std::size_t i = layout.edges.size(); i-- > 0;) {
      const attribution::FlowEdge& edge = layout.edges[i];
      if (edge.layer == from.layer && edge.from == from.token) return {.layer = from.layer + 1, .token = edge.to};
    }
    return from;
  }
  // Nodes are in the order of layers, then of tokens.
  const auto next = move == FlowMove::Right      ? std::next(at)
                    : at == layout.nodes.begin() ? layout.nodes.end()
                                                 : std::prev(at);
  return next != layout.nodes.end() && next->layer == from.layer ? *next : from;
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
