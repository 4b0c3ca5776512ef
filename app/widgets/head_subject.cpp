#include "app/widgets/head_subject.h"

#include "app/cells/shown_mask.h"
#include "app/state/run_interventions.h"
#include "app/widgets/thumbnail.h"
#include "capture/capture_file.h"

namespace headlight::app {

HeadSubject selected_subject(const Frame& frame) {
  const Selection& selection = frame.state.selection;
  HeadSubject subject{.block = selection.block, .layer = nullptr, .geometry = {}};
  subject.geometry.shape = frame.result.shapes.at(selection.block);
  subject.geometry.head = selection.head;
  subject.geometry.is_self = selection.block.kind != model::BlockKind::Cross;
  const bool is_first = selection.block.layer.value == 0 && selection.block.kind != model::BlockKind::Cross;
  if (is_first && frame.result.network && frame.result.input) {
    const bool is_encoder = selection.block.kind == model::BlockKind::EncoderSelf;
    const model::TokenBatch& tokens = frame.result.input->queries(selection.block.kind);
    const auto& embedding = is_encoder ? frame.result.network->source_embedding : frame.result.network->target_embedding;
    if (tokens.vectors.is_empty() && !tokens.ids.empty()) subject.embedding = embedding.get();
    subject.tokens = &tokens;
  }
  if (frame.result.network) {
    subject.layer = &frame.result.network->layer(selection.block);
    subject.geometry.merge = subject.layer->config.merge;
    const std::optional<model::AttentionWeights>& weights = subject.layer->weights;
    subject.geometry.has_weights = weights.has_value();
    subject.geometry.is_rotated = subject.layer->config.rotary || (weights && (weights->query_norm || weights->key_norm));
  }
  return subject;
}

CellQuestion question_about(const Frame& frame, const HeadSubject& subject, attention::Stage stage, attention::Cell cell) {
  const Selection& selection = frame.state.selection;
  const ShownMask shown(frame);
  const attention::MaskSpec& mask = shown.spec();
  CellQuestion question{.geometry = subject.geometry,
                        .layer = subject.layer,
                        .fill = mask.fill,
                        .stage = stage,
                        .row = cell.query,
                        .column = cell.key};
  const auto pattern = fixed_pattern(frame.state, selection.block, selection.head);
  question.is_uniform = pattern == attention::FixedPattern::Uniform;
  if (!attention::is_map(stage)) return question;
  question.first_key = key_range(frame, selection.block.kind).begin;
  if (frame.result.capture) {
    const capture::CapturedScore* score = frame.result.capture->score(selection.block);
    question.has_captured_bias = score != nullptr && score->bias;
    question.has_sink = score != nullptr && score->sinks;
  }
  question.mask_reason = mask_reason(mask, {.map = shown.map(),
                                            .batch = selection.batch,
                                            .cell = cell,
                                            .keys = key_range(frame, selection.block.kind),
                                            .pattern = pattern});
  if (const auto dropout = weight_dropout(frame.state.dropout, selection.block)) {
    question.dropout_factor = dropout->factor_of(selection.batch, selection.head, cell.query, cell.key);
  }
  if (pattern && pattern->weights.has_row(cell.query)) {
    question.painted_weight = double{pattern->weights.state(cell).value_or(0.0F)};
  } else if (!question.is_uniform) {
    question.painted_bias = double{mask.bias(selection.block.layer.value, selection.batch, selection.head, cell)};
  }
  if (mask.score_expression) {
    question.score_expression = mask.score_expression.text();
    question.expressed = [shown, cell](double score) {
      const attention::MaskSpec& spec = shown.spec();
      return spec.score_expression.score(shown.map(), cell.query, cell.key, score, spec.sliders);
    };
  }
  return question;
}

std::string token_name(const Frame& frame, const model::TokenBatch& tokens, std::uint32_t index) {
  return tokens.name(frame.state.selection.batch, index);
}

}  // namespace headlight::app
