#pragma once

#include "app/engine/prediction_memory.h"
#include "app/frame.h"

namespace headlight::app {

/// Are the selected attention's queries the target of an encoder–decoder, so that each row writes the next token?
bool rows_write_tokens(const Frame& frame);

/// Returns the tokens that the model writes at the rows of the selected batch item: row t predicts token t + 1; the last
/// row's is the likeliest prediction (requested here, "…" until it is known). nullopt where rows are named by the tokens
/// that the decoder reads, or aren't a target.
std::optional<std::vector<std::string>> written_tokens(Frame& frame);
/// Returns the name that a query of the selected attention has in every view: of written_tokens(), else the token read
/// there.
std::string row_name(Frame& frame, std::uint32_t query);

/// Returns a token's label: the tokenizer's, or its id.
std::string candidate_label(const EngineResult& result, std::uint32_t id);

/// Draws the tooltip of a candidate that is drawn in `box`.
void draw_candidate_tooltip(Frame& frame, const inference::Candidate& candidate, const chart::Rect& box, const char* hint);

/// Is there a baseline that this run can be compared with?
bool is_comparing(const Frame& frame);
/// Returns what the baseline predicts at the position, under the settings; null while it isn't known, and where nothing is
/// compared.
const inference::Distribution* baseline_distribution(Frame& frame, PredictionMemory& memory,
                                                     const PredictionPosition& position,
                                                     const inference::SamplingSettings& sampling);

/// The input of the bars.
struct PredictionBars {
  std::span<const inference::Candidate> candidates;  ///< likeliest first
  const inference::Distribution& now;
  const inference::Distribution* before = nullptr;  ///< drawn as outlines, with the change in points; none: no outlines
  const char* hint = nullptr;                       ///< in the tooltip: the effect of a click
  /// Called with the bar under the pointer: its token, the share that is written beside it, and whether it is cut off.
  std::function<void(std::uint32_t id, double share, bool is_cut)> point = {};
};

/// Draws the likeliest tokens as bars over a fixed axis from 0 to 100 %, as many as fit `height`, and the share of all
/// others. A bar is the probability that the token is drawn; a token cut off by top-k or top-p has a grey bar of its
/// probability. Returns the id that was clicked.
std::optional<std::uint32_t> draw_prediction_bars(Frame& frame, const PredictionBars& bars, float height);

}  // namespace headlight::app
