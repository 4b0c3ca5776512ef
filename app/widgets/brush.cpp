#include "app/widgets/brush.h"

#include "app/state/map_settings.h"
#include "app/widgets/controls.h"
#include "app/widgets/shown_tile.h"

namespace headlight::app {
namespace {

constexpr const char* kLabel = "Brush";

std::string brush_hint(const State& state) {
  const bool is_box = state[kBrush.shape] == BrushShape::Rectangle;
  std::string does =
      is_box ? "a drag masks a rectangle, or shows a masked one" : "click or drag masks cells, or shows masked ones";
  if (state[kBrush.ink] == BrushInk::Bias) {
    does =
        fmt::format("{} adds {:+.4g} to scores, or takes it away", is_box ? "a drag" : "click or drag", state[kBrush.bias]);
  } else if (state[kBrush.ink] == BrushInk::Pattern) {
    does = fmt::format("{} paints this head's pattern with weight {:.4g}", is_box ? "a drag" : "click or drag",
                       state[kBrush.weight]);
  }
  return fmt::format("Brush: {}. Shift moves the map. Esc or B stops.", does);
}

}  // namespace

bool is_painting(const Frame& frame) { return frame.transient.paints && frame.state.selection.mean == HeadMean::None; }

PaintedMap painted_map(const EngineResult& result, const Selection& selection) {
  const inference::BlockShape* shape = find_shape(result, selection.block);
  if (!result.input || !shape) return {};
  const auto is_of_kind = [&](const auto& block) { return block.first.kind == selection.block.kind; };
  PaintedMap map{.keys = real_tokens(result.input->keys(selection.block.kind), selection.batch, shape->keys),
                 .rows = shape->queries,
                 .columns = shape->keys,
                 .layers = static_cast<std::uint32_t>(std::ranges::count_if(result.shapes, is_of_kind)),
                 .has_trained_window = result.model && result.model->description.window > 0};
  const model::TokenBatch& tokens = result.input->keys(selection.block.kind);
  if (!result.network || selection.block.kind == model::BlockKind::Cross || selection.batch >= tokens.batch) return map;
  for (std::uint32_t token = 1; token < tokens.length && !tokens.ids.empty(); ++token) {
    const std::uint32_t before = tokens.ids[std::size_t{selection.batch} * tokens.length + token - 1];
    if (map.keys.holds(token) && std::ranges::find(result.network->separators, before) != result.network->separators.end())
      map.behind_separators.push_back(token);
  }
  return map;
}

float brush_toggle_width(const Frame& frame) {
  return text_width(frame.ui.fonts().small, kLabel) + 2.0F * ImGui::GetStyle().FramePadding.x;
}

void draw_brush_toggle(Frame& frame) {
  const shell::Theme& theme = frame.ui.theme();
  const bool is_on = frame.transient.paints;
  const TextStyleScope ink(frame, theme.text);
  ImGui::PushStyleColor(ImGuiCol_Button, is_on ? theme.active : theme.field);
  ImGui::PushStyleColor(ImGuiCol_Border, is_on ? theme.accent : theme.border);
  ImGui::PushStyleVar(ImGuiStyleVar_FrameBorderSize, 1.0F);
  if (ImGui::Button(kLabel)) frame.transient.paints = !is_on;
  ImGui::PopStyleVar();
  ImGui::PopStyleColor(2);
  mark_last_item(frame, "head.brush",
                 "Paint the mask: with the brush a click or a drag on the map masks cells, or shows them again (B)");
}

void draw_brush_hint(Frame& frame, float room) {
  ImFont* font = frame.ui.fonts().body;
  const std::string hint = brush_hint(frame.state);
  const std::string fitting = fit_text(font, hint, room);
  write_text(font, frame.ui.theme().accent, fitting);
  frame.mark("head.hint", last_item_rect());
  if (fitting != hint) explain_last_item(frame, hint.c_str());
}

void draw_brush(const Frame& frame, glm::vec2 tip) {
  const shell::Theme& theme = frame.ui.theme();
  ImDrawList* list = ImGui::GetWindowDrawList();
  const auto at = [&](float x, float y) { return ImVec2(tip.x + x, tip.y + y); };
  // The brush is drawn twice: a rim in the background colour keeps it visible over any cell.
  for (const auto& [rim, color] : {std::pair{2.0F, theme.background}, {0.0F, theme.accent}}) {
    draw_line(to_glm(at(7.0F, -7.0F)), to_glm(at(19.0F, -19.0F)), color, 3.0F + rim);
    list->AddTriangleFilled(at(-rim, rim), at(3.0F - rim, -8.0F - rim), at(8.0F + rim, -3.0F + rim), color);
  }
}

}  // namespace headlight::app
