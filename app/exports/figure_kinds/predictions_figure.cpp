

#include "app/exports/figure_kind.h"
#include "app/exports/shown_predictions.h"
#include "core/error.h"

namespace headlight::app {
namespace {

std::string refuse_predictions(const ExportBlocks& blocks) {
  if (!blocks.predicts) return "nothing is predicted from its states";
  const std::uint32_t rows = blocks.query_count();
  return rows == 1 || rows == blocks.shape.queries ? "" : "it is of one position: choose a single query";
}

/// The one query that is selected, or the pinned one of the sequence that predicts.
std::optional<std::uint32_t> chosen_row(const FigureSubject& subject) {
  const ExportBlocks& blocks = subject.blocks;
  if (blocks.query_count() < blocks.shape.queries) return blocks.queries.front().first;
  const std::optional<PinnedRow>& pinned = subject.options.choice.pinned;
  const bool is_of_predicted = pinned && &subject.input.queries(pinned->kind) == &predicted_tokens(subject.input);
  return is_of_predicted ? std::optional(pinned->row) : std::nullopt;
}

std::unique_ptr<exporting::Drawing> draw_predictions(const FigureSubject& subject, FigureNumbers& numbers) {
  const PredictionPosition position = prediction_position(
      {.input = subject.input, .model = subject.model, .batch = subject.matrix.batch, .row = chosen_row(subject)});
  exporting::PredictionsFigure figure;
  const std::uint32_t layers = predicting_layers(*subject.network);
  std::shared_ptr<const Prediction> last;
  bool is_complete = true;
  for (std::uint32_t passed = layers + 1; passed-- > 0;) {
    const bool is_last = passed == layers;
    std::shared_ptr<const Prediction> read =
        numbers.prediction({.batch = position.batch, .token = position.token, .layer = passed, .keeps_logits = is_last});
    is_complete = is_complete && read != nullptr;
    if (!read) continue;
    add_layer(figure, passed, layers, read->candidates, subject.model);
    if (is_last) last = std::move(read);
  }
  if (!is_complete || last->logits == nullptr) return nullptr;
  const inference::SamplingSettings& sampling = subject.options.choice.sampling;
  const inference::Distribution distribution = inference::distribution(*last->logits, sampling);
  set_bars(figure, last->candidates, distribution, subject.model);
  begin_figure(figure, subject, kPredictionsFigure, position_in_words(subject.input, position));
  figure.subtitle += "; " + distribution_in_words(distribution, sampling);
  return exporting::make_drawing(std::move(figure));
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

}  // namespace headlight::app
