#pragma once

#include <cstdint>
#include <vector>

#include "app/analyses/analysis.h"

namespace headlight::app {

/// Euclidean lengths of the residual stream's vectors, before the final norm: how much each layer writes. Heeds the query's
/// `block.kind`, whose stack is read (of cross-attention the decoder), and `batch`.
extern const Analysis kResidualSizes;

struct ResidualSizes final : AnalysisResult {
  std::uint32_t layers = 0, tokens = 0;  ///< layers of the stack
  /// [layer + 1, token]: of the token vectors, then after each layer. Only whole layers: fewer while it is computed.
  std::vector<float> lengths;
};

}  // namespace headlight::app
