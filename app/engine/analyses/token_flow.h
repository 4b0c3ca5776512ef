#pragma once

#include "app/engine/analyses/analysis.h"
#include "app/state/flow_settings.h"
#include "attribution/flow_graph.h"

namespace headlight::app {

/// Asks what flows into the last state of one token of a model with one stack: information-flow routes
/// (attribution/flow_graph.h), from the last layer down, only of what is reached; attention rollout, of texts of at most
/// kMaxRolloutTokens; or attention flow to one token vector, of texts of at most most_flow_tokens(). Tokens count padding.
struct FlowQuestion {
  FlowMethod method = FlowMethod::Routes;
  std::uint32_t batch = 0, position = 0;
  std::uint32_t least = 0;            ///< for routes: the least share that is followed, in thousandths
  std::uint32_t residual_weight = 0;  ///< for the other methods: the residual stream's weight, in thousandths
  std::uint32_t source = 0;           ///< of a maximum flow: the token vector

  auto operator<=>(const FlowQuestion&) const = default;
};
inline constexpr std::uint32_t kMaxRolloutTokens = 4'096;
/// Returns how many tokens the flow takes: all edges between the first and the last layer are in memory at once, four
/// million of them at most: 1,448 tokens of 4 layers, 647 of 12.
std::uint32_t most_flow_tokens(std::uint32_t layers);

struct TokenFlowFound final : AnalysisResult {
  std::uint32_t layers = 0;
  std::uint32_t start = 0;                                         ///< the token
  std::vector<std::vector<attribution::TokenShares>> shares = {};  ///< [layer] of routes: routes() of them at any threshold
  std::vector<attribution::FlowEdge> edges = {};                   ///< of the other two, from kMinFlowThreshold on
  /// [token] What reaches the token vectors, of rollout; of flow only that of the question's, the others 0.
  std::vector<double> inputs = {};
};

Task<TokenFlowFound> analyse(FlowQuestion question, AnalysisSubject subject);
/// Each of these answers the question by one method.
Task<TokenFlowFound> flow_routes(FlowQuestion question, AnalysisSubject subject);
Task<TokenFlowFound> attention_rollout(FlowQuestion question, AnalysisSubject subject);
Task<TokenFlowFound> attention_flow(FlowQuestion question, AnalysisSubject subject);

}  // namespace headlight::app
