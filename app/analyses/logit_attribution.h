#pragma once

#include <cstdint>
#include <vector>

#include "app/analyses/analysis.h"
#include "attribution/logit_parts.h"

namespace headlight::app {

/// Direct logit attribution of one next token, or of its logit's difference from another one's (attribution/logit_parts.h).
/// Heeds `batch`, `query` (the token after which is predicted, padding counted), `tokens` and `options[0]`: 1 where
/// tokens[1] is the other one. Layer by layer from below.
extern const Analysis kLogitAttribution;

struct LogitAttribution final : AnalysisResult {
  double logit = 0.0;                            ///< the model's own, or the difference of both
  double constant = 0.0;                         ///< of the final norm's bias and the unembedding's bias
  double embedding = 0.0;                        ///< of the token's vector, its position included
  std::vector<attribution::LayerLogits> layers;  ///< those that are split so far
  std::uint32_t all_layers = 0;

  bool is_complete() const { return layers.size() == all_layers; }
  /// Of all parts: the logit, up to rounding, once it is complete.
  double sum() const;
};

/// What each source token gives to the same logit by way of the heads. Heeds in addition `options[1]`: 0 sums all heads, 1
/// takes the one that `block` and `head` name. Layer by layer from below.
extern const Analysis kLogitSources;

struct LogitSources final : AnalysisResult {
  std::vector<double> tokens;  ///< [token], padding counted: summed over the layers that are known so far
};

/// The layer's direction for heads, times the user's gains, which weights and values don't contain.
std::vector<double> gained_directions(const AnalysisSubject& subject, model::BlockRef block,
                                      std::span<const double> direction);

}  // namespace headlight::app
