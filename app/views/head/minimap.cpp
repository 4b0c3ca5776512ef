#include "app/views/head/minimap.h"

#include <algorithm>
#include <cmath>

#include <imgui.h>

#include "app/widgets/ink.h"

namespace headlight::app {
namespace {

constexpr float kEdge = 132.0F;             // of the longer side
constexpr float kInset = 10.0F;             // from the map's corner
constexpr float kLeastRoom = 3.0F * kEdge;  // of the map: less would be covered by it
constexpr std::uint32_t kLeastCells = 128;  // of a side: a smaller map is easily overlooked as it is
constexpr float kLeastZoom = 1.05F;

}  // namespace

Minimap::Minimap(Frame& frame, const MapRoom& room) : frame_(frame), rows_(room.rows), columns_(room.columns) {
  Transient& transient = frame.transient;
  const view::Viewport viewport = room.viewport(transient.zoom, {.x = transient.pan_x, .y = transient.pan_y});
  const view::Rect seen = viewport.visible();
  const std::uint32_t longest = std::max(rows_, columns_);
  is_shown_ = viewport.zoom() > kLeastZoom && longest >= kLeastCells && std::min(seen.width, seen.height) >= kLeastRoom;
  if (!is_shown_) return;
  const auto side = [&](std::uint32_t cells) {
    return std::max(std::round(kEdge * static_cast<float>(cells) / static_cast<float>(longest)), 12.0F);
  };
  area_ = {.x = std::round(seen.right() - kInset - side(columns_)),
           .y = std::round(seen.y + kInset),
           .width = side(columns_),
           .height = side(rows_)};
  ImGui::SetCursorScreenPos({area_.x, area_.y});
  ImGui::InvisibleButton("minimap", {area_.width, area_.height});
  frame.mark("head.minimap", {.x = area_.x, .y = area_.y, .width = area_.width, .height = area_.height});
  if (!ImGui::IsItemActive()) return;
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const auto pan = [](float at, float first, float length, std::uint32_t cells) {
    return (std::clamp((at - first) / length, 0.0F, 1.0F) - 0.5F) * static_cast<float>(cells);
  };
  transient.pan_x = pan(mouse.x, area_.x, area_.width, columns_);
  transient.pan_y = pan(mouse.y, area_.y, area_.height, rows_);
  frame.ui.request_redraw();
}

view::Rect Minimap::place_of(const TileQuery& tile) const {
  const float x = area_.width / static_cast<float>(columns_), y = area_.height / static_cast<float>(rows_);
  return {.x = area_.x + static_cast<float>(tile.column) * x,
          .y = area_.y + static_cast<float>(tile.row) * y,
          .width = static_cast<float>(tile.tile_columns() * tile.pool) * x,
          .height = static_cast<float>(tile.tile_rows() * tile.pool) * y};
}

void Minimap::draw_marks(const view::Viewport& viewport) const {
  const shell::Theme& theme = frame_.ui.theme();
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRect({area_.x - 1.0F, area_.y - 1.0F}, {area_.right() + 1.0F, area_.bottom() + 1.0F}, theme.border, 0.0F, 0,
                2.0F);
  const view::Rect matrix = viewport.matrix(), seen = viewport.visible();
  const float left = area_.x + (seen.x - matrix.x) / matrix.width * area_.width;
  const float top = area_.y + (seen.y - matrix.y) / matrix.height * area_.height;
  // A small part of a long text is still seen.
  const float width = std::max(seen.width / matrix.width * area_.width, 4.0F);
  const float height = std::max(seen.height / matrix.height * area_.height, 4.0F);
  list->AddRect({left, top}, {left + width, top + height}, theme.crosshair, 0.0F, 0, 2.0F);
}

}  // namespace headlight::app
