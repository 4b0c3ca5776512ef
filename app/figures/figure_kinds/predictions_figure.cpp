#include "app/figures/figure_kind.h"
#include "app/figures/view_figures.h"
#include "core/error.h"

namespace headlight::app {
namespace {

std::string refuse_predictions(const ExportBlocks& blocks) {
  if (!blocks.predicts) return "nothing is predicted from its states";
  const std::uint32_t rows = blocks.queries.count();
  return rows == 1 || rows == blocks.shape.queries ? "" : "it is of one position: choose a single query";
}

/// The one query that is selected, or the pinned one of the sequence that predicts.
std::optional<std::uint32_t> chosen_row(const FigureSubject& subject) {
  const ExportBlocks& blocks = subject.blocks;
  if (blocks.queries.count() < blocks.shape.queries) return blocks.queries.ranges().front().first;
  const std::optional<PinnedRow>& pinned = subject.options.choice.pinned;
  const bool is_of_predicted = pinned && &subject.input().queries(pinned->kind) == &predicted_tokens(subject.input());
  return is_of_predicted ? std::optional(pinned->row) : std::nullopt;
}

DrawingTask draw_predictions(const FigureSubject& subject, FigureNumbers& numbers) {
  const PredictionPosition position = prediction_position({.input = subject.input(),
                                                           .model = subject.source.model.get(),
                                                           .batch = subject.matrix.batch,
                                                           .row = chosen_row(subject)});
  exporting::PredictionsFigure figure;
  const std::uint32_t layers = predicting_layers(*subject.source.network);
  std::shared_ptr<const Prediction> last;
  for (std::uint32_t passed = layers + 1; passed-- > 0;) {
    const bool is_last = passed == layers;
    const PredictionQuery query{.batch = position.batch, .token = position.token, .layer = passed, .keeps_logits = is_last};
    std::shared_ptr<const Prediction> read = co_await numbers.prediction(query);
    if (!read) co_return nullptr;
    add_layer(figure, passed, layers, read->candidates, subject.source.model.get());
    if (is_last) last = std::move(read);
  }
  const inference::SamplingSettings& sampling = subject.options.choice.sampling;
  const inference::Distribution distribution = inference::distribution(*last->logits, sampling);
  set_bars(figure, last->candidates, distribution, subject.source.model.get());
  begin_figure(figure, subject, kPredictionsFigure, position_in_words(subject.input(), position));
  figure.subtitle += "; " + distribution_in_words(distribution, sampling);
  co_return exporting::make_drawing(std::move(figure));
}

}  // namespace

const FigureKind kPredictionsFigure{
    .id = "predictions",
    .label = "Predictions",
    .help = "what the model predicts at one position, and what each layer would: the one of --queries, or the last",
    .scope = FigureScope::Attention,
    .bytes = {.png = 125e3, .svg = 16e3, .pdf = 20e3, .png_token = 110.0},
    .takes_parts = true,
    .refusal = &refuse_predictions,
    .draw = &draw_predictions};

void set_bars(exporting::PredictionsFigure& figure, std::span<const inference::Candidate> candidates,
              const inference::Distribution& distribution, const inference::LanguageModel* model) {
  figure.bars.clear();
  figure.rest = 1.0;
  for (const inference::Candidate& candidate : candidates.first(std::min(candidates.size(), kMaxFigureBars))) {
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
