#pragma once

#include <optional>
#include <span>
#include <string>

#include "app/engine/predictions.h"
#include "app/frame.h"
#include "inference/sampling.h"

namespace headlight::app {

/// What people read for a token: the tokenizer's label, or its number.
std::string candidate_label(const EngineResult& result, std::uint32_t id);

/// What stands beside the pointer over a candidate.
void draw_candidate_tooltip(Frame& frame, const inference::Candidate& candidate, const char* hint);

/// What the bars show.
struct PredictionBars {
  std::span<const inference::Candidate> candidates;  ///< likeliest first
  const inference::Distribution& now;
  const inference::Distribution* before = nullptr;  ///< drawn as outlines, with the change in points; none: no outlines
  const char* hint = nullptr;                       ///< in the tooltip: what a click does
};

/// The likeliest tokens as bars over a fixed axis from 0 to 100 %, as many as fit `height`, and the share of all others.
/// A bar is the chance that the token is chosen; what top-k or top-p cuts off is a grey bar of its probability. Returns the
/// id that was clicked.
std::optional<std::uint32_t> draw_prediction_bars(Frame& frame, const PredictionBars& bars, float height);

}  // namespace headlight::app
