#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attribution/flow_graph.h"

namespace headlight::attribution {

// Attention rollout and attention flow (Abnar & Zuidema 2020, "Quantifying Attention Flow in Transformers"): heuristics.
// They see weights alone, the mean over heads, and take the residual stream for a constant share w of every layer:
//   Â = w·I + (1 − w)·mean over heads of A
// Neither values, nor W_O, nor the MLPs count.

/// Rollout's step through one layer, for one token's row of Â₁·…·Âₙ: `mass` is the row's entry of a query. Adds
/// mass · Â[query, ·] to `below` [keys], and to `edges` what is at least `least`. `weights` [keys]: the query's mean
/// weights.
void roll_down(double mass, std::uint32_t layer, std::uint32_t query, std::span<const double> weights,
               double residual_weight, double least, std::span<double> below, std::vector<FlowEdge>& edges);

/// The capacities of attention flow: Â of every layer, dense.
struct FlowCapacities {
  std::uint32_t tokens = 0;
  std::vector<std::vector<double>> layers = {};  ///< [layer][query, key] Â
};

/// A largest flow from one token's last state to a token vector, through edges that carry at most Â.
struct TokenFlow {
  double value = 0.0;
  std::vector<FlowEdge> edges = {};  ///< those that carry at least `least`, with what they carry
};
/// By Dinic's algorithm; memory and time grow with layers · tokens².
TokenFlow largest_flow(const FlowCapacities& capacities, std::uint32_t from, std::uint32_t to, double least);

}  // namespace headlight::attribution
