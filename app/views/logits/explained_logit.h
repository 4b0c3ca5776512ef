#pragma once

#include "app/engine/analyses/logit_attribution.h"
#include "app/widgets/head_scores.h"
#include "app/widgets/position_header.h"

namespace headlight::app {

/// Return the questions about a logit's parts, and about its source tokens as the state says.
LogitQuestion parts_of(const ChosenLogit& logit);
LogitSourcesQuestion sources_of(const ChosenLogit& logit, const State& state);

/// Returns the reference to a number of this logit. `of`: one of provenance.h.
NumberRef number_of(const Frame& frame, const ChosenLogit& logit, std::string_view of, const Compared<double>& value);

/// The view's numbers: the run's, and where differences are shown those of the baseline.
struct ExplainedLogit {
  Compared<LogitAttribution> parts;                    ///< the baseline's complete, with the layers and heads of the run's
  std::optional<Compared<LogitSources>> sources = {};  ///< by the run's own tokens; none: not known yet
  double baseline_elsewhere = 0.0;                     ///< what the baseline's other tokens give

  /// Does the baseline's part of what is compared still miss?
  bool awaits_sources() const { return !sources || (parts.baseline && !sources->baseline); }
};
/// Explains the logit; null while the run's own parts aren't known.
std::optional<ExplainedLogit> explain_logit(const EngineResult& result, std::uint32_t batch, const Analysed* parts,
                                            const Analysed* sources, const Analysed* baseline_parts,
                                            const Analysed* baseline_sources);

/// One bar of the components.
struct LogitComponent {
  std::string title;  ///< "layer 3 attention"
  Compared<double> value;
  std::optional<std::uint32_t> layer = {};
};
/// Returns the components: embedding, then each layer's attention and MLP, then the biases at the end.
std::vector<LogitComponent> components_of(const Compared<LogitAttribution>& found);

/// Returns the scores by what each head gives.
HeadScores scores_of(const Compared<LogitAttribution>& found);

/// Returns all numbers as CSV with a header line: part, layer, head, token, value; where there is a baseline its number and
/// the change since.
Table logit_table(const ExplainedLogit& logit, const std::vector<std::string>& tokens);

}  // namespace headlight::app
