#include "attribution/flow_graph.h"

#include <algorithm>
#include <set>

namespace headlight::attribution {
namespace {

/// The edges into one token's state after a layer.
std::vector<FlowEdge> edges_into(const TokenShares& token, std::uint32_t layer, double threshold) {
  std::vector<FlowEdge> edges;
  double sum = token.residual >= threshold ? token.residual : 0.0;
  for (const TermShare& term : token.terms) {
    if (term.share < threshold) continue;
    sum += term.share;
    if (edges.empty() || edges.back().from != term.key) {
      edges.push_back({.layer = layer, .from = term.key, .to = token.token});
    }
    edges.back().share += term.share;
    edges.back().heads.push_back({.head = term.head, .share = term.share});
  }
  if (token.residual >= threshold) {
    edges.push_back({.layer = layer, .from = token.token, .to = token.token, .share = token.residual, .is_residual = true});
  }
  for (FlowEdge& edge : edges) {
    edge.share /= sum;
    for (HeadShare& head : edge.heads) head.share /= sum;
    std::ranges::stable_sort(edge.heads, std::ranges::greater{}, &HeadShare::share);
  }
  return edges;
}

}  // namespace

std::vector<FlowEdge> routes(const std::vector<std::vector<TokenShares>>& shares, std::uint32_t start, double threshold) {
  std::vector<FlowEdge> result;
  std::set<std::uint32_t> reached{start};
  for (auto layer = static_cast<std::uint32_t>(shares.size()); layer-- > 0;) {
    std::set<std::uint32_t> below;
    for (const TokenShares& token : shares[layer]) {
      if (!reached.contains(token.token)) continue;
      for (FlowEdge& edge : edges_into(token, layer, threshold)) {
        below.insert(edge.from);
        result.push_back(std::move(edge));
      }
    }
    reached = std::move(below);
  }
  return result;
}

std::vector<std::uint32_t> reached_below(const std::vector<TokenShares>& layer, double threshold) {
  std::set<std::uint32_t> below;
  for (const TokenShares& token : layer) {
    if (token.residual >= threshold) below.insert(token.token);
    for (const TermShare& term : token.terms) {
      if (term.share >= threshold) below.insert(term.key);
    }
  }
  return {below.begin(), below.end()};
}

}  // namespace headlight::attribution
