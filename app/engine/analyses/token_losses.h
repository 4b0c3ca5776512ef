#pragma once

#include "app/engine/analyses/analysis.h"

namespace headlight::app {

/// Asks how well each token of a batch item is predicted from those before it, by a model that predicts the next one; in an
/// encoder–decoder, each token of its target.
struct TokenLossesQuestion {
  std::uint32_t batch = 0;

  auto operator<=>(const TokenLossesQuestion&) const = default;
};

struct TokenLosses final : AnalysisResult {
  std::uint32_t first = 0;     ///< the first token that is predicted: the second that is no padding
  std::uint32_t tokens = 0;    ///< that are predicted
  std::vector<double> losses;  ///< [token − first] −ln p of it, in nats; fewer than `tokens` while it is computed
};

/// Answers the question. Tokens of a long text are reported as they are computed. Throws Error in one line where nothing is
/// predicted, or a token has no id.
Task<TokenLosses> analyse(TokenLossesQuestion question, AnalysisSubject subject);

/// The loss of later tokens less that of earlier ones, in nats; below 0 where later ones are predicted better.
struct InContextScore {
  double score = 0.0;
  /// Olsson et al. 2022, "In-context Learning and Induction Heads": the loss of token 500 less that of token 50, counted
  /// from 0. Else, of fewer tokens: the mean loss of the last tenth less that of the second tenth.
  bool is_of_tokens = false;
};
/// Returns the score of all losses of a text, from its second token on. None: fewer than kMinScoredLosses.
std::optional<InContextScore> in_context_score(std::span<const double> losses);
inline constexpr std::size_t kMinScoredLosses = 20;

/// Returns the mean of at least one loss.
double mean_loss(std::span<const double> losses);
/// Returns [i], the mean of the first i + 1 losses.
std::vector<double> running_means(std::span<const double> losses);

}  // namespace headlight::app
