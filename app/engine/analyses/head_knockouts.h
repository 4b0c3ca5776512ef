#pragma once

#include "app/engine/analyses/analysis.h"
#include "app/state/what_if_settings.h"

namespace headlight::app {

/// Asks how knocking out each head, one after the other, changes a prediction or the loss: for every head of every kind of
/// attention, in one pass that head's output is 0, its mean over the text, or its mean over the line's tokens in the
/// baseline ("mean ablation" over another text), after the run's own interventions.
struct KnockoutsQuestion {
  Ablation ablation = Ablation::Zero;
  bool measures_loss = false;
  std::uint32_t batch = 0;
  // The next three members describe a prediction; they are 0 and none where the question isn't about one.
  std::uint32_t position = 0;               ///< of the token after which is predicted, padding counted
  std::uint32_t token = 0;                  ///< its id
  std::optional<std::uint32_t> other = {};  ///< whose logit is subtracted

  auto operator<=>(const KnockoutsQuestion&) const = default;
  bool compares() const { return ablation == Ablation::BaselineMean; }
};

/// Returns the question for the choices; logit and probability have the same one.
KnockoutsQuestion knockout_query(const Choices& choices, std::uint32_t batch, std::uint32_t position, std::uint32_t token,
                                 std::optional<std::uint32_t> other);

/// The numbers that a pass predicts.
struct PredictedNumbers {
  double logit = 0.0;        ///< the token's, less the other's where there is one
  double probability = 0.0;  ///< the token's, by softmax over the vocabulary
  /// Mean over the tokens after the first of −ln p(token | those before it), in nats.
  double loss = 0.0;
  std::vector<inference::Candidate> likeliest = {};  ///< tokens; none of a loss

  double of(KnockoutMeasure measure) const;
};

struct HeadKnockouts final : AnalysisResult {
  PredictedNumbers present;                     ///< of the run as it is
  std::map<HeadRef, PredictedNumbers> without;  ///< with the head knocked out; those that are known
  std::size_t all_heads = 0;

  bool is_complete() const { return without.size() == all_heads; }
  /// Returns the number with the head knocked out less the present one; nullopt: not known yet.
  std::optional<double> change(const HeadRef& head, KnockoutMeasure measure) const;
};

/// Tells heads in the order of computation; those of one layer may be computed together.
Task<HeadKnockouts> analyse(KnockoutsQuestion question, AnalysisSubject subject);

}  // namespace headlight::app
