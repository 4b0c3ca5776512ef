#include "app/sidebar/masks_panel.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "app/sidebar/expression_fields.h"
#include "app/widgets/ink.h"

namespace headlight::app {
namespace {

constexpr std::array<const char*, 3> kFills = {"\u2212\u221E", "\u22121e9", "\u22121e10"};
constexpr std::array<const char*, 4> kReaches = {"head", "layer", "later", "all"};
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
  form.slider("prefix", "Prefix", mask.rule.prefix, std::max(tokens, mask.rule.prefix),
              "The first tokens are seen by everybody; after them each query sees only keys up to its own position.");
  int fill = static_cast<int>(mask.fill);
  if (form.segments("fill", "Fill", kFills, fill,
                    "What a masked score becomes. Where everything is masked, a finite fill gives a uniform row and "
                    "\u2212\u221E a row without weights.")) {
    mask.fill = static_cast<attention::MaskFill>(fill);
  }
  draw_expression_fields(frame, form, drafts);
  form.toggle("brush", "Brush", frame.transient.paints, "B",
              "While it is on, a click or a drag on the map masks cells, or shows masked ones again. Esc stops.");
  int shape_of_brush = static_cast<int>(frame.state.view.brush_shape);
  if (frame.transient.paints && form.segments("shape", "Shape", kShapes, shape_of_brush)) {
    frame.state.view.brush_shape = static_cast<BrushShape>(shape_of_brush);
  }
  int reach = static_cast<int>(frame.state.view.paint_reach);
  if (form.segments("reach", "Paints", kReaches, reach)) {
    frame.state.view.paint_reach = static_cast<PaintReach>(reach);
  }
  const std::size_t painted = attention::painted_count(mask.painted);
  if (mask.matrix) {
    form.value("Matrix", fmt::format("[{}, {}, {}, {}]", mask.matrix->batch, mask.matrix->heads, mask.matrix->queries,
                                     mask.matrix->keys));
  }
  const std::string count = painted == 0 ? "nothing" : fmt::format("{} cell{}", painted, painted == 1 ? "" : "s");
  const bool is_changed = mask != attention::MaskSpec{} || is_notebook(frame.state.source);
  if (form.value_with_button("reset", "Painted", count, "Reset mask", is_changed)) reset_masks(frame.state);
}

}  // namespace headlight::app
