#pragma once

#include "app/engine/analyses/analysis.h"
#include "attribution/logit_parts.h"

namespace headlight::app {

/// Direct logit attribution of one next token, or of its logit's difference from another one's (attribution/logit_parts.h).
struct LogitQuestion {
  std::uint32_t batch = 0;
  std::uint32_t position = 0;  ///< of the token after which is predicted, padding counted
  std::uint32_t token = 0;     ///< its id
  std::optional<std::uint32_t> other = {};

  auto operator<=>(const LogitQuestion&) const = default;
};
/// Asks what each source token gives to the same logit by way of the heads.
struct LogitSourcesQuestion : LogitQuestion {
  std::optional<HeadRef> head = {};  ///< that alone; none: the sum of all heads

  auto operator<=>(const LogitSourcesQuestion&) const = default;
};

struct LogitAttribution final : AnalysisResult {
  double logit = 0.0;                            ///< the model's own, or the difference of both
  double constant = 0.0;                         ///< of the final norm's bias and the unembedding's bias
  double embedding = 0.0;                        ///< of the token's vector, its position included
  std::vector<attribution::LayerLogits> layers;  ///< those that are split so far
  std::uint32_t all_layers = 0;

  bool is_complete() const { return layers.size() == all_layers; }
  /// Returns the sum of all parts: the logit, up to rounding, once the attribution is complete.
  double sum() const;
  /// Subtracts part by part; `other` must have these layers and heads.
  LogitAttribution operator-(const LogitAttribution& other) const;
};

struct LogitSources final : AnalysisResult {
  std::vector<double> tokens;  ///< [token], padding counted

  LogitSources operator-(const LogitSources& other) const;
};

Task<LogitAttribution> analyse(LogitQuestion question, AnalysisSubject subject);
Task<LogitSources> analyse(LogitSourcesQuestion question, AnalysisSubject subject);

/// Returns the layer's direction for heads, times the user's gains, which weights and values don't contain.
std::vector<double> gained_directions(const AnalysisSubject& subject, model::BlockRef block,
                                      std::span<const double> direction);

}  // namespace headlight::app
