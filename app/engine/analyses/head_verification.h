#pragma once

#include "app/engine/analyses/analysis.h"
#include "attention/mask.h"

namespace headlight::app {

/// Computes a head's weights again in plain double-precision loops, from the layer's input as the run has it (x; of
/// cross-attention the encoder's output too; without weights Q and K): projections, the head's norms, RoPE, scale, softcap,
/// position bias, expressions, mask and softmax. Errors of the layers before are thus not part of it. Rows are 64 queries of
/// the item, spread evenly, or all of fewer.
struct VerificationQuestion {
  model::BlockRef block = {};
  std::uint32_t batch = 0, head = 0;

  auto operator<=>(const VerificationQuestion&) const = default;
};

struct HeadVerification final : AnalysisResult {
  std::uint32_t rows = 0;     ///< to be compared
  std::uint32_t checked = 0;  ///< rows compared so far
  std::uint64_t cells = 0;    ///< weights compared so far
  /// Largest |weight − reference|; NaN as soon as one of them isn't a number.
  double largest = 0.0;
  attention::Cell where = {};                   ///< of the largest
  double weight = 0.0, reference_weight = 0.0;  ///< there
};

/// Reports its result row by row.
Task<HeadVerification> analyse(VerificationQuestion question, AnalysisSubject subject);

/// Weights that are as good as float32 allows: the bound that the tests hold all model families to.
inline constexpr double kExactWeight = 1e-5;

}  // namespace headlight::app
