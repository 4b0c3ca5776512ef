#include <glm/common.hpp>
#include <glm/vector_relational.hpp>

#include "app/state/comparison.h"
#include "app/state/map_settings.h"
#include "app/views/head/map_parts.h"
#include "app/widgets/controls.h"
#include "app/widgets/tile_numbers.h"

namespace headlight::app {

namespace {

using attention::Stage;

constexpr std::uint32_t kMapPlace = 0x4D;
constexpr float kMinDifference = 1e-4F;  // that has the strongest colour: rounding isn't shown as a change

}  // namespace

MapHeatmap::MapHeatmap(Frame& frame, const chart::Viewport& viewport)
    : frame_(frame),
      viewport_(viewport),
      tiles_(frame, viewport, kMapPlace, [this](const chart::Region& region) { return query(region); }) {}

bool MapHeatmap::has_masked_cells() const {
  const Stage stage = shown_stage(frame_.state);
  return (stage == Stage::Masked || stage == Stage::Weights) && known().tile && known().facts->has_masked;
}

bool MapHeatmap::has_odd_cells() const { return known().tile && known().facts->has_odd; }

TileQuery MapHeatmap::query(const chart::Region& region) const {
  TileQuery query = shown_map(frame_.state.selection, frame_.result.shapes,
                              tile_of(frame_, shown_stage(frame_.state), region), shows_norms(frame_.state));
  query.rows = std::max(region.rows, 1U);
  query.columns = std::max(region.columns, 1U);
  if (!query.is_exact() && shown_stage(frame_.state) == Stage::Weights) query.pooling = frame_.state[kMapView.pooling];
  if (head_map_shows_difference(frame_)) query.quantity = difference_of(query.quantity);
  return query;
}

bool MapHeatmap::shows_weights() const { return shown_stage(frame_.state) == Stage::Weights && !shows_norms(frame_.state); }

bool MapHeatmap::is_per_row() const {
  return shows_weights() && !head_map_shows_difference(frame_) && frame_.state[kMapView.color_range] == ColorRange::PerRow;
}

/// Sets the colours. The range is of the whole map, so that zooming and panning change no colour, or the user's.
void MapHeatmap::set_colors(shell::HeatmapImage& image) const {
  if (head_map_shows_difference(frame_)) {
    const ValueRange range = known().tile ? known().facts->range : ValueRange();
    return set_signed_colors(frame_, image, query({}), range, kMinDifference);
  }
  if (shows_weights()) {
    set_weight_colors(image, frame_.state, known(), is_per_row());
    return;
  }
  float reach = 1e-6F;
  for (const ShownTile& shown : {known(), tiles_.visible()}) {
    if (!shown.tile) continue;
    const ValueRange range = shown.facts->range;
    reach = std::max({reach, std::abs(range.low), std::abs(range.high)});
  }
  if (shows_norms(frame_.state)) {
    image.color_map = weight_colors(frame_.state);
    image.spread = frame_.state[kMapView.color_spread];
    image.high = reach;
    return;
  }
  set_signed_colors(frame_, image, query({}), {.low = -reach, .high = reach}, 1e-6F);
  const auto limits = frame_.state.view.color_limits.find(shown_stage(frame_.state));
  if (limits == frame_.state.view.color_limits.end()) return;
  image.low = -limits->second.high;
  image.high = limits->second.high;
}

TiledMap::SetColors MapHeatmap::colors() const {
  return [this](shell::HeatmapImage& image, const ShownTile& shown) {
    set_colors(image);
    if (is_per_row()) image.row_scale = shown.facts->row_scales;
  };
}

void MapHeatmap::draw() { tiles_.draw(colors()); }

void MapHeatmap::draw_small(const Minimap& minimap) {
  tiles_.draw_small(
      minimap.area(), [&](const TileQuery& tile) { return minimap.area_of(tile); }, colors());
  minimap.draw_marks(viewport_);
}

void MapHeatmap::draw_bar(const chart::Rect& bar) {
  shell::HeatmapImage image;
  set_colors(image);
  const Stage stage = shown_stage(frame_.state);
  const bool is_difference = head_map_shows_difference(frame_);
  // The limits of a stage that the user may have moved are weights' limits.
  const bool is_norm = shows_norms(frame_.state);
  const char* caption = is_difference  ? difference_caption(frame_.state)
                        : is_per_row() ? "of row's largest"
                                       : quantity(is_norm ? kNorms : QuantityId(stage)).unit.c_str();
  const bool is_fixed = !has_range_choice() || is_per_row();
  const bool is_of_weights = known().tile && shows_weights() && !is_per_row() && !is_difference;
  draw_range_bar(frame_,
                 {.area = bar,
                  .stage = stage,
                  .caption = caption,
                  .is_fixed = is_fixed,
                  .largest = is_of_weights ? known().facts->range.high : 0.0F},
                 image);
}

bool MapHeatmap::has_range_choice() const { return !head_map_shows_difference(frame_) && !shows_norms(frame_.state); }

chart::ValueLimits MapHeatmap::range() const {
  shell::HeatmapImage image;
  set_colors(image);
  return {.low = image.low, .high = image.high};
}

std::optional<RangeHint> MapHeatmap::hint() const {
  if (!known().tile || !shows_weights() || is_per_row() || head_map_shows_difference(frame_)) return std::nullopt;
  shell::HeatmapImage image;
  set_colors(image);
  return range_hint(frame_.state, known(), image);
}

namespace {

constexpr float kMinimapEdge = 132.0F;    // of the longer side
constexpr float kMinEdge = 24.0F;         // of the shorter side
constexpr float kInset = 10.0F;           // from the map's corner
constexpr float kMinRoom = 3.0F;          // times its size, of the map: less would be covered by it
constexpr std::uint32_t kMinCells = 128;  // of a side: a smaller map is easily overlooked as it is
constexpr float kMinZoom = 1.05F;

}  // namespace

Minimap::Minimap(Frame& frame, const MapRoom& room)
    : frame_(frame), first_(room.first.column, room.first.row), count_(glm::vec2(room.columns, room.rows) - first_) {
  Transient& transient = frame.transient;
  const chart::Viewport viewport = room.viewport(transient.zoom, transient.pan);
  const chart::Rect seen = viewport.visible();
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
  const glm::vec2 part = (pointer_position() - area_.origin) / area_.size;
  transient.pan = (glm::clamp(part, 0.0F, 1.0F) - 0.5F) * count_;
  frame.ui.request_redraw(2);
}

chart::Rect Minimap::area_of(const TileQuery& tile) const {
  const glm::vec2 cell = area_.size / count_;
  return {.origin = area_.origin + (glm::vec2(tile.column, tile.row) - first_) * cell,
          .size = glm::vec2(tile.tile_columns() * tile.column_pool(), tile.tile_rows() * tile.pool) * cell};
}

void Minimap::draw_marks(const chart::Viewport& viewport) const {
  const shell::Theme& theme = frame_.ui.theme();
  outline_rect(area_.origin - 1.0F, area_.end() + 1.0F, theme.border, 0.0F, 2.0F);
  const chart::Rect matrix = viewport.shown(), seen = viewport.visible();
  const glm::vec2 scale = area_.size / matrix.size;
  const glm::vec2 low = area_.origin + (seen.origin - matrix.origin) * scale;
  const glm::vec2 size = glm::max(seen.size * scale, glm::vec2(4.0F));  // a small part of a long text is still seen
  outline_rect(low, low + size, theme.crosshair, 0.0F, 2.0F);
}

}  // namespace headlight::app
