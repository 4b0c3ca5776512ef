#pragma once

#include <compare>
#include <concepts>
#include <type_traits>
#include <variant>

#include "app/engine/analyses/changes.h"
#include "app/engine/analyses/head_circuits.h"
#include "app/engine/analyses/head_knockouts.h"
#include "app/engine/analyses/head_metrics.h"
#include "app/engine/analyses/head_ranking.h"
#include "app/engine/analyses/head_similarity.h"
#include "app/engine/analyses/head_verification.h"
#include "app/engine/analyses/lens_cells.h"
#include "app/engine/analyses/logit_attribution.h"
#include "app/engine/analyses/patching.h"
#include "app/engine/analyses/residual_sizes.h"
#include "app/engine/analyses/retrieval.h"
#include "app/engine/analyses/run_sample.h"
#include "app/engine/analyses/token_flow.h"
#include "app/engine/analyses/token_losses.h"
#include "app/engine/analyses/vocabulary_tokens.h"

namespace headlight::app {

/// One of all questions that analyses answer.
struct AnalysisQuery {
  using Question = std::variant<HeadMetricsQuestion, ResidualSizesQuestion, LargestActivationsQuestion, LogitQuestion,
                                LogitSourcesQuestion, FlowQuestion, RunSampleQuestion, ChangedHeadsQuestion,
                                ChangedCellsQuestion, KnockoutsQuestion, FromToQuestion, PatternQuestion, SimilarityQuestion,
                                PatchingQuestion, WeightPatchingQuestion, PathQuestion, KeptActivationQuestion,
                                CompositionQuestion, CompositionGraphQuestion, OvCopyingQuestion, VerificationQuestion,
                                LensQuestion, LensTableQuestion, VocabularyQuestion, TokenLossesQuestion, RetrievalQuestion>;

  Question question = {};
  /// The question is about the baseline instead of the run. For questions that don't compare.
  bool is_of_baseline = false;

  AnalysisQuery() = default;
  template <typename Asked>
  requires(!std::same_as<std::remove_cvref_t<Asked>, AnalysisQuery> && std::constructible_from<Question, Asked>)
      AnalysisQuery(Asked&& asked, bool of_baseline = false)  // NOLINT: each question is a query
      : question(std::forward<Asked>(asked)), is_of_baseline(of_baseline) {}

  auto operator<=>(const AnalysisQuery&) const = default;
  /// Does it read the baseline beside the run? Then it is asked only where there is one, which has the run's shapes.
  bool compares() const;
};

/// Answers any question.
Task<std::shared_ptr<const AnalysisResult>> analyse_any(AnalysisQuery query, AnalysisSubject subject);

}  // namespace headlight::app
