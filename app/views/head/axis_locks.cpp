#include "app/views/head/axis_locks.h"

#include <optional>

#include "app/shell/click_area.h"
#include "app/widgets/ink.h"

namespace headlight::app {
namespace {

/// The row or column at a point of the labels, found in the cells beside them.
std::optional<LockedToken> token_at(const view::Viewport& viewport, MapSide side, glm::vec2 point) {
  const view::Rect cells = viewport.visible();
  const glm::vec2 inside =
      side == MapSide::Query ? glm::vec2(cells.origin.x + 0.5F, point.y) : glm::vec2(point.x, cells.origin.y + 0.5F);
  const std::optional<view::CellPosition> cell = viewport.cell_at(inside);
  if (!cell) return std::nullopt;
  return LockedToken{.side = side, .token = side == MapSide::Query ? cell->row : cell->column};
}

void handle_side(Frame& frame, const view::Viewport& viewport, MapSide side, const view::Rect& labels) {
  if (labels.is_empty()) return;
  const char* name = side == MapSide::Query ? "head.rows_of_labels" : "head.columns_of_labels";
  ImGui::SetCursorScreenPos(to_imgui(labels.origin));
  const bool is_clicked = click_area(name, to_imgui(labels.size));
  const bool is_hovered = ImGui::IsItemHovered();
  mark_pointer_item(frame, name,
                    side == MapSide::Query
                        ? "A click locks the row of a query, another one or Esc releases it; a right click masks it."
                        : "A click locks the column of a key, another one or Esc releases it; a right click masks it.");
  if (!is_hovered) return;
  const std::optional<LockedToken> token = token_at(viewport, side, to_glm(ImGui::GetIO().MousePos));
  if (!token) return;
  ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
  std::optional<LockedToken>& locked = frame.state.view.locked;
  if (is_clicked) locked = locked == token ? std::nullopt : token;
  if (ImGui::IsMouseClicked(ImGuiMouseButton_Right)) frame.transient.token_menu = token;
}

}  // namespace

void handle_axis_clicks(Frame& frame, const view::Viewport& viewport, glm::vec2 margins) {
  const view::Rect cells = viewport.visible();
  handle_side(frame, viewport, MapSide::Query,
              {.origin = {cells.origin.x - margins.x, cells.origin.y}, .size = {margins.x, cells.size.y}});
  handle_side(frame, viewport, MapSide::Key,
              {.origin = {cells.origin.x, cells.origin.y - margins.y}, .size = {cells.size.x, margins.y}});
}

}  // namespace headlight::app
