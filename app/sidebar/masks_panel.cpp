#include "app/sidebar/masks_panel.h"

#include <limits>

#include "app/sidebar/expression_fields.h"
#include "app/widgets/controls.h"

namespace headlight::app {
namespace {

constexpr std::array<const char*, 3> kFills = {"\u2212\u221E", "\u22121e9", "\u22121e10"};
constexpr std::array<const char*, 4> kReaches = {"head", "layer", "later", "all"};
constexpr std::array<const char*, 3> kInks = {"mask", "bias", "pattern"};
constexpr float kSteepestBias = 100.0F;
constexpr std::array<const char*, 5> kShapes = {"cell", "row", "col", "diag", "box"};

const char* kind_title(model::BlockKind kind) {
  switch (kind) {
    case model::BlockKind::EncoderSelf:
      return "Mask of the encoder's self-attention";
    case model::BlockKind::DecoderSelf:
      return "Mask of the decoder's self-attention";
    case model::BlockKind::Cross:
      break;
  }
  return "Mask of the cross-attention";
}

/// Several kinds of attention have several masks: then it must be said whose this is.
bool has_several_kinds(const EngineResult& result) {
  return std::ranges::any_of(result.blocks, [&](model::BlockRef block) { return block.kind != result.blocks.front().kind; });
}

/// What the brush puts, how much of it, and its shape.
void draw_brush_fields(Frame& frame, Form& form) {
  ViewChoices& view = frame.state.view;
  int ink = static_cast<int>(view.brush_ink);
  if (form.segments("ink", "Puts", kInks, ink,
                    "A mask hides cells, or shows them again; a bias is added to their scores; a pattern takes the place of "
                    "this head's own: painted rows attend by the painted weights, divided by their sum.")) {
    view.brush_ink = static_cast<BrushInk>(ink);
  }
  if (view.brush_ink == BrushInk::Bias) {
    form.decimal("bias", "Bias", view.brush_bias, -kSteepestBias, kSteepestBias,
                 "Added to the scaled score: +0.69 doubles a small weight, \u22120.69 halves it.");
  } else if (view.brush_ink == BrushInk::Pattern) {
    form.decimal("weight", "Weight", view.brush_weight, 0.0F, attention::kMostPatternWeight,
                 "Of the painted cell; a row's weights are divided by their sum. Rows without paint stay as computed.");
  }
  int shape = static_cast<int>(view.brush_shape);
  if (form.segments("shape", "Shape", kShapes, shape)) view.brush_shape = static_cast<BrushShape>(shape);
}

std::string painted_text(const attention::MaskSpec& mask) {
  const std::size_t cells = attention::painted_count(mask.painted), biases = attention::painted_count(mask.biases);
  std::string text = cells == 0 && biases > 0 ? "" : fmt::format("{} cell{}", cells, cells == 1 ? "" : "s");
  if (cells == 0 && biases == 0) text = "nothing";
  if (biases > 0) text += fmt::format("{}{} bias{}", text.empty() ? "" : ", ", biases, biases == 1 ? "" : "es");
  return text;
}

/// How many documents the text in view is made of, with a button that joins them.
void draw_documents(Frame& frame, Form& form, attention::MaskSpec& mask) {
  if (!mask.documents) return;
  const std::uint32_t item = frame.state.selection.batch;
  const auto found = mask.documents->find(item);
  const std::size_t count = found == mask.documents->end() ? 1 : found->second.size() + 1;
  if (form.value_with_button("documents", "Documents", std::to_string(count), "Join", count > 1))
    attention::set_documents(mask, item, {});
}

/// Dropout of the whole pass, whatever mask is selected.
void draw_dropout(Frame& frame, Form& form) {
  DropoutChoices& dropout = frame.state.dropout;
  form.decimal(
      "dropout", "Dropout", dropout.probability, 0.0F, attention::kMaxDropout,
      "The probability with which each number is dropped, as in training; what is kept is divided by 1 \u2212 it, so "
      "that only means over many seeds stay, and rows of weights no longer add up to 1. 0: off.");
  if (dropout.probability == 0.0F) return;
  form.number("dropout_seed", "Its seed", dropout.seed,
              {.low = 0,
               .high = std::numeric_limits<std::uint32_t>::max(),
               .below = dropout.seed - (dropout.seed > 0 ? 1U : 0U),
               .above = dropout.seed + 1U},
              "The same seed drops the same numbers.");
  form.toggle("dropout_weights", "of weights", dropout.weights, {}, "After softmax. Crosses mark the dropped cells.");
  form.toggle("dropout_embeddings", "of embeddings", dropout.embeddings, {},
              "Of the token vectors with their positions, before the first layer.");
  form.toggle("dropout_branches", "of branches", dropout.branches, {},
              "Of what attention and feed-forward return, before the residual is added.");
  form.toggle("dropout_inner", "in the feed-forward", dropout.inner, {}, "Of its inner layer, after the activation.");
}

}  // namespace

void draw_masks_panel(Frame& frame, NumberBeingTyped& typed, ExpressionDrafts& drafts, const std::string& error) {
  Form form(frame, typed, "mask");
  if (is_capture(frame.state.source)) {
    return form.note("A capture's weights are as they were saved: masks and heads are changed in a network.");
  }
  attention::MaskSpec& mask = selected_mask(frame.state);
  if (has_several_kinds(frame.result)) form.note(kind_title(frame.state.selection.block.kind));
  if (!error.empty()) form.warning(error);

  const auto shape = frame.result.shapes.find(frame.state.selection.block);
  constexpr std::uint32_t kShortest = 4;  // a slider of one step looks half full
  std::uint32_t tokens = kShortest;
  if (shape != frame.result.shapes.end()) tokens = std::max({tokens, shape->second.queries, shape->second.keys});

  form.toggle("causal", "Causal", mask.rule.causal, "C", "A query sees only keys up to its own position.");
  form.toggle("padding", "Padding", mask.rule.key_padding, "P", "Keys that are padding are masked.");
  form.slider("window", "Window", mask.rule.window, std::max(tokens, mask.rule.window),
              "A query sees only keys that are less than so many tokens away.");
  form.slider(
      "prefix", "Seen by all", mask.rule.prefix, std::max(tokens, mask.rule.prefix),
      "So many first tokens are seen by every query (prefix); after them each query sees only keys up to its own position.");
  int fill = static_cast<int>(mask.fill);
  if (form.segments("fill", "Masked score", kFills, fill,
                    "What a masked score becomes. Where everything is masked, a finite fill gives a uniform row and "
                    "\u2212\u221E a row without weights.")) {
    mask.fill = static_cast<attention::MaskFill>(fill);
  }
  draw_expression_fields(frame, form, drafts);
  draw_dropout(frame, form);
  form.toggle("brush", "Brush", frame.transient.paints, "B",
              "While it is on, a click or a drag on the map masks cells, or shows masked ones again. Esc stops.");
  if (frame.transient.paints) draw_brush_fields(frame, form);
  int reach = static_cast<int>(frame.state.view.paint_reach);
  if (form.segments("reach", "Paints", kReaches, reach,
                    "The maps that change with the one on screen. A pattern is one head's.")) {
    frame.state.view.paint_reach = static_cast<PaintReach>(reach);
  }
  draw_documents(frame, form, mask);
  if (mask.matrix) {
    form.value("Matrix", fmt::format("[{}, {}, {}, {}]", mask.matrix->batch, mask.matrix->heads, mask.matrix->queries,
                                     mask.matrix->keys));
  }
  const std::string count = painted_text(mask);
  const bool is_changed = mask != attention::MaskSpec{} || is_notebook(frame.state.source);
  if (form.value_with_button("reset", "Painted", count, "Reset mask", is_changed)) reset_masks(frame.state);
}

}  // namespace headlight::app
