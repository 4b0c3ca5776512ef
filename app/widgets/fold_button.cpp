#include "app/widgets/fold_button.h"

#include "app/shell/click_area.h"
#include "app/widgets/controls.h"
#include "app/widgets/text.h"

namespace headlight::app {
namespace {

void draw_icon(glm::vec2 middle, FoldSide side, shell::Color color) {
  constexpr glm::vec2 kSize(16.0F, 12.0F);
  constexpr float kPanel = 6.0F;
  const glm::vec2 low = glm::round(middle - kSize * 0.5F);
  const glm::vec2 high = low + kSize;
  const float panel = side == FoldSide::Left ? low.x : high.x - kPanel;
  fill_rect({panel, low.y}, {panel + kPanel, high.y}, color, 2.0F);
  outline_rect(low, high, color, 2.0F, 1.2F);
}

}  // namespace

bool draw_fold_button(Frame& frame, const char* name, FoldSide side, glm::vec2 origin) {
  const shell::Theme& theme = frame.ui.theme();
  ImGui::SetCursorScreenPos(origin);
  const bool was_clicked = click_area(name, {kFoldButtonEdge, kFoldButtonEdge});
  mark_last_item(frame, name);
  const bool is_hovered = ImGui::IsItemHovered();
  if (is_hovered) fill_rect(origin, origin + kFoldButtonEdge, theme.hover, 4.0F);
  draw_icon(origin + kFoldButtonEdge * 0.5F, side, is_hovered ? theme.text : theme.text_dim);
  return was_clicked;
}

bool draw_rail(Frame& frame, const char* name, FoldSide side, const char* title) {
  constexpr float kTop = 7.0F;
  const shell::Theme& theme = frame.ui.theme();
  const ImVec2 low = ImGui::GetWindowPos();
  const ImVec2 size = ImGui::GetWindowSize();
  ImGui::SetCursorScreenPos(low);
  const bool was_clicked = click_area(name, size);
  mark_last_item(frame, name);
  const bool is_hovered = ImGui::IsItemHovered();
  const shell::Color color = is_hovered ? theme.text : theme.text_dim;
  if (is_hovered) fill_rect(to_glm(low), {low.x + size.x, low.y + size.y}, theme.hover);
  const float edge = side == FoldSide::Left ? low.x + size.x - 0.5F : low.x + 0.5F;
  draw_line({edge, low.y}, {edge, low.y + size.y}, theme.border);
  const float middle = low.x + size.x * 0.5F;
  draw_icon({middle, low.y + kTop + kFoldButtonEdge * 0.5F}, side, color);
  ImFont* font = frame.ui.fonts().small;
  const float length = text_width(font, title);
  const float start = low.y + kTop + kFoldButtonEdge + 10.0F;
  if (start + length > low.y + size.y) return was_clicked;
  // Upwards at the left edge, downwards at the right one: the text's baseline is towards the map.
  const glm::vec2 at(middle, side == FoldSide::Left ? start + length : start);
  draw_turned_text(font, at, {0.0F, side == FoldSide::Left ? -1.0F : 1.0F}, color, title);
  return was_clicked;
}

}  // namespace headlight::app
