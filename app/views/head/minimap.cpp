#include "app/views/head/map_parts.h"

#include <glm/common.hpp>
#include <glm/vector_relational.hpp>

#include "app/widgets/controls.h"

namespace headlight::app {
namespace {

constexpr float kMinimapEdge = 132.0F;           // of the longer side
constexpr float kMinEdge = 24.0F;         // of the shorter side
constexpr float kInset = 10.0F;           // from the map's corner
constexpr float kMinRoom = 3.0F;          // times its size, of the map: less would be covered by it
constexpr std::uint32_t kMinCells = 128;  // of a side: a smaller map is easily overlooked as it is
constexpr float kMinZoom = 1.05F;

}  // namespace

Minimap::Minimap(Frame& frame, const MapRoom& room)
    : frame_(frame), first_(room.first.column, room.first.row), count_(glm::vec2(room.columns, room.rows) - first_) {
  Transient& transient = frame.transient;
  const view::Viewport viewport = room.viewport(transient.zoom, transient.pan);
  const view::Rect seen = viewport.visible();
  const std::uint32_t longest = std::max(room.rows, room.columns);
  const glm::vec2 size = glm::max(glm::round(kMinimapEdge * count_ / static_cast<float>(longest)), glm::vec2(kMinEdge));
  const bool has_room = glm::all(glm::greaterThanEqual(seen.size, kMinRoom * size));
  is_shown_ = viewport.zoom() > kMinZoom && longest >= kMinCells && has_room;
  if (!is_shown_) return;
  area_ = {.origin = glm::round(glm::vec2(seen.end().x - kInset - size.x, seen.origin.y + kInset)), .size = size};
  ImGui::SetCursorScreenPos(area_.origin);
  click_area("minimap", area_.size);
  frame.mark("head.minimap", area_);
  if (!ImGui::IsItemActive()) return;
  const glm::vec2 part = (to_glm(ImGui::GetIO().MousePos) - area_.origin) / area_.size;
  transient.pan = (glm::clamp(part, 0.0F, 1.0F) - 0.5F) * count_;
  frame.ui.request_redraw(2);
}

view::Rect Minimap::area_of(const TileQuery& tile) const {
  const glm::vec2 cell = area_.size / count_;
  return {.origin = area_.origin + (glm::vec2(tile.column, tile.row) - first_) * cell,
          .size = glm::vec2(tile.tile_columns() * tile.column_pool(), tile.tile_rows() * tile.pool) * cell};
}

void Minimap::draw_marks(const view::Viewport& viewport) const {
  const shell::Theme& theme = frame_.ui.theme();
  outline_rect(area_.origin - 1.0F, area_.end() + 1.0F, theme.border, 0.0F, 2.0F);
  const view::Rect matrix = viewport.shown(), seen = viewport.visible();
  const glm::vec2 scale = area_.size / matrix.size;
  const glm::vec2 low = area_.origin + (seen.origin - matrix.origin) * scale;
  const glm::vec2 size = glm::max(seen.size * scale, glm::vec2(4.0F));  // a small part of a long text is still seen
  outline_rect(low, low + size, theme.crosshair, 0.0F, 2.0F);
}

}  // namespace headlight::app
