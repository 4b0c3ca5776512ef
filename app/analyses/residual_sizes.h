#pragma once

#include "app/analyses/analysis.h"

namespace headlight::app {

/// Euclidean lengths of the residual stream's vectors, before the final norm: how much each layer writes. Of cross-attention
/// the decoder's stream.
struct ResidualSizesQuestion {
  model::BlockKind kind = {};
  std::uint32_t batch = 0;

  auto operator<=>(const ResidualSizesQuestion&) const = default;
};

struct ResidualSizes final : AnalysisResult {
  std::uint32_t layers = 0, tokens = 0;  ///< layers of the stack
  /// [layer + 1, token]: of the token vectors, then after each layer. Only whole layers: fewer while it is computed.
  std::vector<float> lengths;
};

/// Tells each layer.
Task<ResidualSizes> analyse(ResidualSizesQuestion question, AnalysisSubject subject);

}  // namespace headlight::app
