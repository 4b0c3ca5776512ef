#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/analyses/logit_attribution.h"
#include "app/widgets/logit_choice.h"

namespace headlight::app {

/// The questions for its parts, and for its source tokens as the state says.
AnalysisQuery parts_of(const ChosenLogit& logit);
AnalysisQuery sources_of(const ChosenLogit& logit, const State& state);

/// A number of this logit as the origin dialog asks about it. `of`: one of provenance.h.
NumberRef number_of(const Frame& frame, const ChosenLogit& logit, std::string_view of, double value);

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
