#pragma once

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

/// A largest flow from one token's last state to a token vector, through edges that carry at most Â.
struct TokenFlow {
  double value = 0.0;
  std::vector<FlowEdge> edges = {};  ///< those that carry at least `least`, with what they carry
};

/// Attention flow by Dinic's algorithm, of what can be reached alone: memory and the time of a round grow with the edges
/// that were added, some 44 bytes each.
class LargestFlow {
 public:
  LargestFlow(std::uint32_t layers, std::uint32_t tokens, std::uint32_t from, std::uint32_t to);

  /// Can flow reach the token after the layer whose edges are added next?
  bool is_reached(std::uint32_t query) const { return reached_[query]; }
  /// Adds the edges of a query that is reached: `capacities` [keys] of Â, what isn't above 0 (NaN too) is none. Layers are
  /// added from the last one down.
  void add(std::uint32_t query, std::span<const double> capacities);
  /// The layer below is next.
  void end_layer();

  /// One round of the algorithm, when all layers are added. Returns whether the flow is complete.
  bool step();
  TokenFlow result(double least) const;

 private:
  struct End {
    std::uint32_t to = 0;
    double left = 0.0;
  };
  void add_pipe(std::uint32_t from, std::uint32_t to, double capacity);
  bool find_levels();
  double push(std::uint32_t from, double most);

  std::uint32_t layer_, tokens_, from_, to_;  ///< layer_: whose edges are added; from_ and to_ are nodes
  std::vector<bool> reached_, below_;         ///< [token] after and before the layer
  std::vector<End> ends_;                     ///< every pipe is followed by its reverse
  std::vector<std::vector<std::uint32_t>> of_node_;
  std::vector<int> level_;
  std::vector<std::size_t> next_;
  double value_ = 0.0;
};

}  // namespace headlight::attribution
