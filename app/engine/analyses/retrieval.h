#pragma once

#include "app/engine/analyses/analysis.h"
#include "evaluation/needle.h"

namespace headlight::app {

/// Asks which heads find a needle in a haystack that repeats a batch item's text. Needs passes of texts of their own, with
/// the weights, networks and masks of the model as it was trained.
struct RetrievalQuestion {
  std::uint32_t batch = 0;
  evaluation::NeedleGrid grid = {};

  auto operator<=>(const RetrievalQuestion&) const = default;
};

struct RetrievalFound final : AnalysisResult {
  std::vector<evaluation::NeedleFound> texts;  ///< that are measured, by length and depth
  std::size_t all_texts = 0;
  std::uint32_t heads = 0;  ///< of a layer
};

/// Tells text by text. Throws Error in one line where the run is no language model's, or as needle_texts().
Task<RetrievalFound> analyse(RetrievalQuestion question, AnalysisSubject subject);

}  // namespace headlight::app
