#pragma once

#include <optional>
#include <string>

#include "app/predictions.h"
#include "panels/panel.h"

namespace headlight::app {

/// What people read for a token: the tokenizer's label, or its number.
std::string candidate_label(const EngineResult& result, std::uint32_t id);

/// What stands beside the pointer over a candidate.
void draw_candidate_tooltip(Frame& frame, const inference::Candidate& candidate, const char* hint);

/// The likeliest tokens as bars, as many as fit `height`, and the share of all others. Returns the id that was clicked.
std::optional<std::uint32_t> draw_prediction_bars(Frame& frame, const Prediction& prediction, float height,
                                                  const char* hint);

}  // namespace headlight::app
