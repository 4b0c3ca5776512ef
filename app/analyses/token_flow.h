#pragma once

#include <cstdint>
#include <vector>

#include "app/analyses/analysis.h"
#include "attribution/flow_graph.h"

namespace headlight::app {

// What flows into the last state of one token of a model with one stack. All heed `batch` and `query`, the token, padding
// counted.

/// Information-flow routes (attribution/flow_graph.h), from the last layer down, only of what is reached. `options[0]`: the
/// least share that is followed, in thousandths. Finds `shares`: routes() of them at any threshold from there on.
extern const Analysis kFlowRoutes;

/// Attention rollout, of texts of at most kMostRolloutTokens. `options[0]`: the residual stream's weight in thousandths.
extern const Analysis kAttentionRollout;
inline constexpr std::uint32_t kMostRolloutTokens = 4'096;

/// Attention flow to the token vector `options[1]`, padding counted, of texts of at most most_flow_tokens(). `options[0]`
/// likewise.
extern const Analysis kAttentionFlow;
/// All edges between the first and the last layer are in memory at once, four million of them at most: 1,448 tokens of 4
/// layers, 647 of 12.
std::uint32_t most_flow_tokens(std::uint32_t layers);

struct TokenFlowFound final : AnalysisResult {
  std::uint32_t layers = 0;
  std::uint32_t start = 0;                                         ///< the token
  std::vector<std::vector<attribution::TokenShares>> shares = {};  ///< [layer] of routes
  std::vector<attribution::FlowEdge> edges = {};                   ///< of the other two, from kLeastFlowThreshold on
  /// [token] What reaches the token vectors, of rollout; of flow only that of `options[1]`, the others 0.
  std::vector<double> inputs = {};
};

}  // namespace headlight::app
