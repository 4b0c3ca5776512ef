#pragma once

#include <cstdint>
#include <vector>

#include "attribution/layer_shares.h"

namespace headlight::attribution {

/// A head's part of an edge.
struct HeadShare {
  std::uint32_t head = 0;
  double share = 0.0;
};

/// From a token's state before a layer to a token's state after it.
struct FlowEdge {
  std::uint32_t layer = 0;
  std::uint32_t from = 0, to = 0;  ///< tokens: the key, the query
  double share = 0.0;
  bool is_residual = false;           ///< the token's own residual stream; else attention
  std::vector<HeadShare> heads = {};  ///< the largest first; empty where heads were averaged
};

/// What flows into one token's last state, layer by layer.
struct FlowGraph {
  std::uint32_t layers = 0;
  std::uint32_t start = 0;                            ///< the token after the last layer
  std::vector<FlowEdge> edges = {};                   ///< by layer downwards, then by `to` and `from`; what `start` reaches
  std::vector<std::vector<TokenShares>> shares = {};  ///< [layer] of routes: what was split, by token
};

/// Information-flow routes (Ferrando & Voita 2024, §2.3): at every token terms and residual stream below `threshold` are
/// dropped and the others divided by their sum; what is left is followed from `start` down. An edge's share is the sum over
/// its heads. `shares` [layer] must list terms from the threshold on, of every token that is reached.
std::vector<FlowEdge> routes(const std::vector<std::vector<TokenShares>>& shares, std::uint32_t start, double threshold);

/// The tokens before a layer that are reached from those after it with this threshold, in order: whose shares the layer
/// below needs.
std::vector<std::uint32_t> reached_below(const std::vector<TokenShares>& layer, double threshold);

}  // namespace headlight::attribution
