#pragma once

#include "app/analyses/patch_effects.h"

namespace headlight::app {

/// Activations of one layer in a run that can be put into another: of some tokens, of a head or of the whole layer.
struct PatchPlace {
  PatchMap map = PatchMap::Residual;
  model::BlockRef block = {};
  std::uint32_t batch = 0, head = 0;   ///< head 0 where the map isn't of heads
  std::uint32_t first = 0, count = 0;  ///< tokens

  auto operator<=>(const PatchPlace&) const = default;
};

/// Numbers of a token's activations.
std::uint32_t patch_width(PatchMap map, const inference::BlockShape& shape);
/// Reads them, of a run with such a shape.
void read_place(const PatchPlace& place, const inference::BlockShape& shape, Reads& reads);
/// What was read [token, width], of several places one behind the other.
std::vector<float> place_values(const Answers& answers);
/// The mean of rows [row, width], in double precision, without those of tokens that the run has no counterpart of (NaN).
/// Throws Error where nothing is left.
std::vector<double> mean_row(std::span<const float> rows, std::size_t width);
/// Each of some rows becomes their mean.
void spread_mean(std::span<float> rows, std::size_t width);
/// Makes activations of two runs the same where either has none (NaN): a token without a counterpart stays as it is.
void match_missing(std::span<float> source, std::span<float> target);
/// Tokens, padding counted.
struct TokenRange {
  std::uint32_t first = 0, count = 0;
};

/// The state whose prediction is measured, after the last layer. Throws Error where the run has none, or no such ids.
inference::StateRef measured_state(const MeasuredToken& measured, const AnalysisSubject& subject);
/// What the state predicts in one of the runs, unchanged.
Task<PatchedNumbers> prediction_in(WhichRun run, inference::StateRef state, MeasuredToken measured);
/// These rows [token, width] take their place.
inference::Intervention replaced(const PatchPlace& place, std::vector<float> rows);
/// Where an intervention finds them, without an operation.
inference::Intervention intervention_at(const PatchPlace& place);

}  // namespace headlight::app
