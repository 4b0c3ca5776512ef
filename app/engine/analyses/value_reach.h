#pragma once

#include "app/engine/analyses/analysis.h"
#include "app/shapes/quantities/quantity.h"

namespace headlight::app {

/// Asks how far from 0 a stage's numbers, or their changes since the baseline, are in all heads of a kind of attention,
/// whose maps have one range of colours by it. In a large model or a long text some queries at equal distances are read.
struct ValueReachQuestion {
  model::BlockKind kind = {};
  std::uint32_t batch = 0;
  attention::Stage stage = {};
  bool is_change = false;

  bool compares() const { return is_change; }
  auto operator<=>(const ValueReachQuestion&) const = default;
};

struct ValueReach final : AnalysisResult {
  float reach = 0.0F;  ///< 0: no number is another one
};

Task<ValueReach> analyse(ValueReachQuestion question, AnalysisSubject subject);

/// Returns the question about a quantity with both signs that every head has; nullopt for others.
std::optional<ValueReachQuestion> reach_question(QuantityId id, model::BlockKind kind, std::uint32_t batch);

}  // namespace headlight::app
