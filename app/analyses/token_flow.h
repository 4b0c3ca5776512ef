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
inline constexpr std::uint32_t kMostRolloutTokens = 2'048;

/// Attention flow to every token vector, of texts of at most kMostFlowTokens. `options[0]` likewise. Its edges are those of
/// the flow to token `options[1]`, padding counted.
extern const Analysis kAttentionFlow;
inline constexpr std::uint32_t kMostFlowTokens = 64;

struct TokenFlowFound final : AnalysisResult {
  std::uint32_t layers = 0;
  std::uint32_t start = 0;                                         ///< the token
  std::vector<std::vector<attribution::TokenShares>> shares = {};  ///< [layer] of routes
  std::vector<attribution::FlowEdge> edges = {};                   ///< of the other two, from kLeastFlowThreshold on
  std::vector<double> inputs = {};  ///< [token] of the other two: what reaches the token vectors
};

}  // namespace headlight::app
