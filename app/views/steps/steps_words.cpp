#include "app/state/comparison.h"
#include "app/views/steps/steps_flow.h"
#include "app/widgets/cells/shown_mask.h"
#include "app/widgets/cells/stage_text.h"
#include "app/widgets/thumbnail.h"

namespace headlight::app {
namespace {

using attention::Stage;

/// Returns what a capture lacks at this step; empty: it has what the step needs.
std::string lacks(const inference::BlockShape& shape, Stage stage) {
  if (shape.only_weights && stage == Stage::V) return "Queries and keys (q, k) are not in the file.";
  if (shape.has_values) return stage >= Stage::Merged ? "W_O is not in the file." : "";
  return stage <= Stage::Weights ? "Values (v) are not in the file: what heads add needs them." : "";
}

/// Returns how all heads of a matrix are cut out of it or put together, as tensors' shapes.
std::string reshaped(const BlockGeometry& geometry, Stage stage) {
  const inference::BlockShape& shape = geometry.shape;
  const bool is_cut = stage >= Stage::Q && stage <= Stage::V;
  if (is_cut) {
    const std::uint32_t rows = stage == Stage::Q ? shape.queries : shape.keys, heads = shape.matrices(stage);
    const std::uint32_t width = stage == Stage::V ? shape.d_v : shape.d_k;
    return fmt::format(" Cut into heads: ({0}, {1}) → view ({0}, {2}, {3}) → transpose ({2}, {0}, {3}).", rows,
                       heads * width, heads, width);
  }
  if (stage != Stage::Heads && stage != Stage::Merged) return {};
  const bool is_bug = geometry.merge == model::MergeOrder::WithoutTranspose;
  return fmt::format(" Put together: ({1}, {0}, {2}) → {3} ({0}, {4}).", shape.queries, shape.heads, shape.d_v,
                     is_bug ? "reshape without a transpose"
                            : fmt::format("transpose ({}, {}, {}) → reshape", shape.queries, shape.heads, shape.d_v),
                     shape.d_merged);
}

}  // namespace

std::string step_sentence(const Frame& frame, const HeadSubject& subject, const BlockPlan& plan, const BlockNode& node) {
  const std::size_t number = static_cast<std::size_t>(&node - plan.nodes.data()) + 1;
  std::string text = fmt::format("{} **{}**  ${}$", number, node.quantity().title, formula_of(frame, subject, node.stage));
  if (frame.result.capture) {
    text += fmt::format(": as it was saved, or computed from what was. {}", lacks(subject.geometry.shape, node.stage));
  } else if (!node.explanation.empty()) {
    text += fmt::format(": {}", node.explanation);
  }
  if (subject.has_all_heads) text += reshaped(subject.geometry, node.stage);
  const auto* experts = subject.layer && subject.layer->experts ? &*subject.layer->experts : nullptr;
  if (experts && node.stage == Stage::FfnGates) {
    text += fmt::format(" {} of {} for each token{}.", experts->per_token, experts->count(),
                        experts->shared ? ", beside the shared expert" : "");
  }
  return text;
}

std::string formula_of(const Frame& frame, const HeadSubject& subject, StepMatrix matrix) {
  using Given = StepMatrix::Other;
  if (matrix == Given::Memory) return "the encoder's output, or the second text";
  if (matrix == Given::OutputWeight)
    return subject.has_all_heads ? "rows of all heads" : "all heads; framed: this one's rows";
  if (matrix > StepMatrix(Given::OutputWeight)) return "the same for every token";
  if (matrix == Given::ExpertLoad) return "share of the tokens that each expert gets";
  if (matrix == Given::TokenVectors) {
    const float scale = subject.embedding->scale;
    if (subject.embedding->dropped_id)
      return "rows of the embedding's table × 0.88 ÷ the share that isn't masked; masked tokens have 0";
    return scale == 1.0F ? "rows of the embedding's table" : fmt::format("rows of the embedding's table × {:.6g}", scale);
  }
  if (matrix == Given::PositionVectors) return "one row for each position";
  if (matrix == Given::TypeVectors) return "one row for each token type";
  if (matrix == Given::EmbeddingSum) return "before the embedding's norm";
  if (const JoinedHeads joined = joined_heads(matrix, subject.geometry.shape); joined.heads > 0) {
    return fmt::format("{} heads of {} columns", joined.heads, joined.width);
  }
  if (!matrix.is_stage()) {
    return subject.has_all_heads ? "columns of all heads" : fmt::format("columns of head {}", subject.geometry.head);
  }
  if (matrix != Stage::Masked) {
    return quantity(matrix.stage())
        .formula({.block = subject.block,
                  .layer = subject.layer,
                  .head = subject.geometry.head,
                  .mask = &frame.state.masks[subject.block.kind],
                  .pattern = fixed_pattern(frame.state, subject.block, subject.geometry.head),
                  .score = frame.result.capture ? frame.result.capture->score(subject.block) : nullptr});
  }
  const ShownMask shown(frame);
  const attention::KeyRange keys = key_range(frame);
  const attention::MaskSpec& mask = shown.spec();
  const std::string summary = mask_summary(mask, keys.end - keys.begin < subject.geometry.shape.keys);
  return summary.empty() ? "nothing is masked" : fmt::format("{} → {}", summary, fill_text(mask.fill));
}

}  // namespace headlight::app
