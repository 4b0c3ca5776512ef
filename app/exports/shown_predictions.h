#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "app/engine/prediction_place.h"
#include "export/predictions_figure.h"
#include "inference/sampling.h"

namespace headlight::app {

/// The most bars of a figure of predictions, and what it shows of each layer.
inline constexpr std::size_t kMostFigureBars = 15, kFigureReadings = 3;

/// What a figure of predictions is made from.
struct ShownPredictions {
  /// A token's bar.
  struct Bar {
    std::uint32_t id = 0;
    double share = 0.0;  ///< the chance that it is drawn; of one that is cut off its probability
    bool is_cut = false;
  };
  /// What a layer's state would predict.
  struct Layer {
    std::uint32_t layer = 0;  ///< layers passed: 0 the token vectors
    std::vector<inference::Candidate> candidates;
  };
  std::string title = {}, subtitle = {};
  std::vector<Bar> bars = {};
  double rest = 0.0;               ///< of all other tokens
  std::uint32_t all_layers = 0;    ///< of the stack
  std::vector<Layer> layers = {};  ///< the last one first
  exporting::FigureStyle style = {};
  std::string session = {};
};

/// Bars of the likeliest tokens under sampling settings.
void add_bars(ShownPredictions& shown, std::span<const inference::Candidate> candidates,
              const inference::Distribution& distribution);

/// "output", "layer 11", "input": a state after so many of `layers`.
std::string layer_label(std::uint32_t passed, std::uint32_t layers);

/// "Next token after “mat”, token 5 of 6".
std::string position_in_words(const model::ModelInput& input, const PredictionPosition& position);

/// "of 50257 tokens · entropy 2.31 nats · 40 can be drawn".
std::string distribution_in_words(const inference::Distribution& distribution, const inference::SamplingSettings& sampling);

exporting::PredictionsFigure predictions_figure(ShownPredictions shown, const inference::LanguageModel* model);

}  // namespace headlight::app
