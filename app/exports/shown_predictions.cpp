#include "app/exports/shown_predictions.h"

namespace headlight::app {

void set_bars(exporting::PredictionsFigure& figure, std::span<const inference::Candidate> candidates,
              const inference::Distribution& distribution, const inference::LanguageModel* model) {
  figure.bars.clear();
  figure.rest = 1.0;
  for (const inference::Candidate& candidate : candidates.first(std::min(candidates.size(), kMostFigureBars))) {
    const double chance = distribution.chances.at(candidate.id), probability = distribution.probabilities.at(candidate.id);
    const bool is_cut = chance <= 0.0 && probability > 0.0;
    figure.bars.push_back(
        {.token = predicted_label(model, candidate.id), .share = is_cut ? probability : chance, .is_cut = is_cut});
    figure.rest = std::max(figure.rest - chance, 0.0);
  }
}

void add_layer(exporting::PredictionsFigure& figure, std::uint32_t passed, std::uint32_t layers,
               std::span<const inference::Candidate> candidates, const inference::LanguageModel* model) {
  exporting::PredictionsFigure::Layer& row = figure.layers.emplace_back();
  row.name = layer_label(passed, layers);
  for (const inference::Candidate& candidate : candidates.first(std::min(candidates.size(), kFigureReadings)))
    row.readings.push_back({.token = predicted_label(model, candidate.id), .probability = candidate.probability});
}

std::string layer_label(std::uint32_t passed, std::uint32_t layers) {
  if (passed == layers) return "output";
  return passed == 0 ? "input" : fmt::format("layer {}", passed - 1);
}

std::string position_in_words(const model::ModelInput& input, const PredictionPosition& position) {
  const model::TokenBatch& tokens = predicted_tokens(input);
  const std::string token = tokens.name(position.batch, position.token);
  const bool is_next = position.kind == PredictionPosition::Kind::Next;
  const char* what = is_next                                             ? "Next token after"
                     : position.kind == PredictionPosition::Kind::Masked ? "In the place of"
                                                                         : "In the token's own place,";
  return fmt::format("{} \u201C{}\u201D, token {} of {}", what, token, position.token - position.first,
                     position.end - position.first);
}

std::string distribution_in_words(const inference::Distribution& distribution, const inference::SamplingSettings& sampling) {
  std::string text =
      fmt::format("of {} tokens \u00B7 entropy {:.2f} nats", distribution.probabilities.size(), distribution.entropy);
  if (sampling.method == inference::SamplingMethod::Greedy) return text;
  if (sampling.temperature != 1.0F) text += fmt::format(" at temperature {:.3g}", sampling.temperature);
  if (distribution.drawable < distribution.probabilities.size()) {
    text += fmt::format(" \u00B7 {} can be drawn", distribution.drawable);
  }
  return text;
}

}  // namespace headlight::app
