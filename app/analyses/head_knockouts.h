#pragma once

#include <cstddef>
#include <map>
#include <optional>

#include "app/analyses/analysis.h"

namespace headlight::app {

/// What knocking out each head, one after the other, changes about a prediction or about the loss: for every head of every
/// kind of attention one pass in which that head's output is 0, or its mean over the text, behind the run's own
/// interventions. Heeds the query's `batch`; `options`: a KnockoutMeasure, where Logit and Probability are the same
/// question, and an Ablation. Of a prediction also `query` (the token whose prediction it is) and `tokens` (ids: a token,
/// and the one whose logit is subtracted; the same: none is). Heads are told as they are known, in the order of computation;
/// those of one layer may be computed together.
extern const Analysis kHeadKnockouts;
/// The same where each head gives its mean over the line's tokens in the baseline instead ("mean ablation" over another
/// text): Ablation::BaselineMean.
extern const Analysis kReferenceAblations;

/// The question, whose unneeded members are 0: of one of the two, as the ablation says.
AnalysisQuery knockout_query(const WhatIfChoices& choices, std::uint32_t batch, std::uint32_t position, std::uint32_t token,
                             std::optional<std::uint32_t> other);

/// What a pass predicts.
struct PredictedNumbers {
  double logit = 0.0;        ///< the token's, less the other's where there is one
  double probability = 0.0;  ///< the token's, by softmax over the vocabulary
  /// Mean over the tokens behind the first of −ln p(token | those before it), in nats.
  double loss = 0.0;

  double of(KnockoutMeasure measure) const;
};

struct HeadKnockouts final : AnalysisResult {
  PredictedNumbers present;                     ///< of the run as it is
  std::map<HeadRef, PredictedNumbers> without;  ///< with the head knocked out; those that are known
  std::size_t all_heads = 0;

  bool is_complete() const { return without.size() == all_heads; }
  /// Knocked out less present; nullopt: not known yet.
  std::optional<double> change(const HeadRef& head, KnockoutMeasure measure) const;
};

}  // namespace headlight::app
