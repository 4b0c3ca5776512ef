#pragma once

#include "app/engine/prediction_place.h"
#include "export/predictions_figure.h"
#include "inference/sampling.h"

namespace headlight::app {

/// The most bars of a figure of predictions, and what it shows of each layer.
inline constexpr std::size_t kMostFigureBars = 15, kFigureReadings = 3;

/// The bars of the likeliest tokens under sampling settings, in place of those that the figure has.
void set_bars(exporting::PredictionsFigure& figure, std::span<const inference::Candidate> candidates,
              const inference::Distribution& distribution, const inference::LanguageModel* model);

/// What a state after so many of `layers` would predict, below what the figure has.
void add_layer(exporting::PredictionsFigure& figure, std::uint32_t passed, std::uint32_t layers,
               std::span<const inference::Candidate> candidates, const inference::LanguageModel* model);

/// "output", "layer 11", "input": a state after so many of `layers`.
std::string layer_label(std::uint32_t passed, std::uint32_t layers);

/// "Next token after “mat”, token 5 of 6".
std::string position_in_words(const model::ModelInput& input, const PredictionPosition& position);

/// "of 50257 tokens · entropy 2.31 nats · 40 can be drawn".
std::string distribution_in_words(const inference::Distribution& distribution, const inference::SamplingSettings& sampling);

}  // namespace headlight::app
