#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/analyses/logit_attribution.h"
#include "app/engine/predictions.h"
#include "app/frame.h"

namespace headlight::app {

/// The logit that is explained, or the difference of two.
struct ExplainedLogit {
  PredictionPosition position;
  std::uint32_t token = 0;  ///< the chosen one, else the likeliest
  std::optional<std::uint32_t> other = {};
  const Prediction* prediction = nullptr;  ///< the likeliest tokens there

  /// The question for its parts, and for its source tokens as the state says.
  AnalysisQuery parts() const;
  AnalysisQuery sources(const State& state) const;
};

/// A number of this logit as the origin dialog asks about it. `of`: one of provenance.h.
NumberRef number_of(const Frame& frame, const ExplainedLogit& logit, std::string_view of, double value);

/// What the state chooses at its position; none until the prediction is known.
std::optional<ExplainedLogit> explained_logit(Frame& frame);

/// Two lists that open: the token, and the one whose logit is subtracted.
void choose_tokens(Frame& frame, const ExplainedLogit& logit);

/// One bar of the components.
struct LogitComponent {
  std::string title;  ///< "layer 3 attention"
  double value = 0.0;
  std::optional<std::uint32_t> layer = {};
};
/// Embedding, then each layer's attention and MLP, then the biases at the end.
std::vector<LogitComponent> components_of(const LogitAttribution& found);

/// All numbers as CSV with a header line: part, layer, head, token, value.
std::string logit_csv(const LogitAttribution& found, const LogitSources* sources, const std::vector<std::string>& tokens);

}  // namespace headlight::app
