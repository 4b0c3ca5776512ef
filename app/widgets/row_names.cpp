#include "app/widgets/row_names.h"

#include "app/engine/written_rows.h"
#include "app/widgets/prediction_bars.h"

namespace headlight::app {

bool rows_write_tokens(const Frame& frame, model::BlockKind kind) {
  const bool is_written = frame.result.model && frame.result.model->description.is_encoder_decoder;
  return is_written && frame.result.input && rows_write_tokens(*frame.result.input, kind);
}

std::optional<std::vector<std::string>> written_tokens(Frame& frame, model::BlockKind kind) {
  if (!rows_write_tokens(frame, kind) || frame.state.view.row_names != RowNames::Written) return std::nullopt;
  const model::TokenBatch& target = *frame.result.input->target;
  const std::uint32_t batch = frame.state.selection.batch;
  if (batch >= target.texts.size() || batch >= target.lengths.size()) return std::nullopt;
  std::vector<std::string> texts = written_texts(target, batch);
  const std::uint32_t end =
      std::min<std::uint32_t>(target.start(batch) + target.lengths[batch], static_cast<std::uint32_t>(texts.size()));
  if (!frame.result.has_logits || end == 0) return texts;
  const Prediction* next = frame.ask(PredictionQuery{
      .batch = batch, .token = end - 1, .layer = predicting_layers(*frame.result.network), .keeps_logits = true});
  if (next && next->run == frame.result.run && !next->candidates.empty()) {
    texts[end - 1] = candidate_label(frame.result, next->candidates.front().id);
    frame.ui.ensure_glyphs(texts[end - 1]);
  }
  return texts;
}

}  // namespace headlight::app
