#pragma once

#include "app/analyses/logit_attribution.h"
#include "app/widgets/position_header.h"

namespace headlight::app {

/// The questions for its parts, and for its source tokens as the state says.
LogitQuestion parts_of(const ChosenLogit& logit);
LogitSourcesQuestion sources_of(const ChosenLogit& logit, const State& state);

/// A number of this logit as the origin dialog asks about it. `of`: one of provenance.h.
NumberRef number_of(const Frame& frame, const ChosenLogit& logit, std::string_view of, double value);

/// What the view shows: the run's numbers, and where differences are shown those of the baseline.
struct ExplainedLogit {
  const LogitAttribution& now;
  const LogitAttribution* baseline = nullptr;  ///< complete, with the layers and heads of `now`; null: nothing to compare
  const LogitSources* sources = nullptr;       ///< null: not known yet
  const LogitSources* baseline_sources = nullptr;  ///< by the run's own tokens
  double baseline_elsewhere = 0.0;                 ///< what the baseline's other tokens give

  /// The run's, or what they changed by.
  LogitAttribution shown() const;
  /// Of the source tokens likewise; there must be `sources`.
  LogitSources shown_sources() const;
};
/// The baseline's source tokens by the run's own `tokens`: 0 where one has no counterpart; `elsewhere` becomes the sum of
/// the others.
LogitSources of_counterparts(const EngineResult& result, std::uint32_t batch, const LogitSources& baseline,
                             std::size_t tokens, double& elsewhere);
/// `baseline` where `now` can be compared with it; else null.
const LogitAttribution* comparable(const LogitAttribution& now, const LogitAttribution* baseline);

/// One bar of the components.
struct LogitComponent {
  std::string title;  ///< "layer 3 attention"
  double value = 0.0;
  std::optional<std::uint32_t> layer = {};
};
/// Embedding, then each layer's attention and MLP, then the biases at the end.
std::vector<LogitComponent> components_of(const LogitAttribution& found);

/// All numbers as CSV with a header line: part, layer, head, token, value; where there is a baseline its number and the
/// change since.
std::string logit_csv(const ExplainedLogit& logit, const std::vector<std::string>& tokens);

}  // namespace headlight::app
