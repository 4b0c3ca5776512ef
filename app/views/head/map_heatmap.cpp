#include "app/views/head/map_heatmap.h"

#include <imgui.h>

#include "app/quantities/shown_map.h"
#include "app/shell/imgui_vectors.h"
#include "app/state/comparison.h"
#include "app/widgets/baseline_numbers.h"
#include "app/widgets/cell_numbers.h"

namespace headlight::app {
namespace {

using attention::Stage;

constexpr std::uint32_t kMapPlace = 0x4D, kMinimapPlace = 0x4E;
constexpr std::uint32_t kSnap = 32;        // values
constexpr float kLeastDifference = 1e-4F;  // that has the strongest colour: rounding isn't shown as a change

/// Widened to multiples of kSnap values, so that panning by a few cells asks for the same tile again.
view::Region snapped(view::Region region, std::uint32_t rows, std::uint32_t columns) {
  const auto widen = [](std::uint32_t& first, std::uint32_t& count, std::uint32_t all, std::uint32_t pool) {
    const std::uint32_t snap = kSnap * pool;
    const std::uint32_t end = std::min((first + count + snap - 1) / snap * snap, all);
    first = first / snap * snap;
    count = end - first;
  };
  widen(region.row, region.rows, rows, region.pool);
  widen(region.column, region.columns, columns, region.column_pool());
  return region;
}

}  // namespace

MapHeatmap::MapHeatmap(Frame& frame, const view::Viewport& viewport) : frame_(frame), viewport_(viewport) {
  const float scale = frame.ui.scale();
  const view::Viewport fitted = viewport.fitted();
  if (is_large_map(viewport.rows(), viewport.columns())) {
    layers_ = find_layers(frame, {.visible = query(viewport.visible_region(scale)),
                                  .whole = query(fitted.visible_region(scale)),
                                  .rows = viewport.rows(),
                                  .columns = viewport.columns()});
    return;
  }
  const TileQuery sharp = query(snapped(viewport.visible_region(scale), viewport.rows(), viewport.columns()));
  const TileQuery whole = query(fitted.visible_region(scale));
  // What is visible is asked for first.
  sharp_ = find_tile(frame, sharp);
  if (!sharp_.tile) sharp_ = find_covering_tile(frame.result, sharp);
  whole_ = find_tile(frame, whole);
  if (!whole_.tile) whole_ = find_covering_tile(frame.result, whole);
}

bool MapHeatmap::has_masked_cells() const {
  const Stage stage = shown_stage(frame_.state);
  return (stage == Stage::Masked || stage == Stage::Weights) && known().tile && known().facts->has_masked;
}

bool MapHeatmap::has_odd_cells() const { return known().tile && known().facts->has_odd; }

TileQuery MapHeatmap::query(const view::Region& region) const {
  const Selection& selection = frame_.state.selection;
  const bool has_pooling = std::max(region.pool, region.column_pool()) > 1 && shown_stage(frame_.state) == Stage::Weights;
  TileQuery query = shown_map(selection,
                              {.quantity = shown_stage(frame_.state),
                               .block = selection.block,
                               .batch = selection.batch,
                               .head = selection.head,
                               .row = region.row,
                               .rows = std::max(region.rows, 1U),
                               .column = region.column,
                               .columns = std::max(region.columns, 1U),
                               .pool = region.pool,
                               .pooling = has_pooling ? frame_.state.view.pooling : attention::Pooling::Max,
                               .pooled_columns = region.pooled_columns},
                              shows_norms(frame_.state));
  if (head_map_shows_difference(frame_)) query.quantity = difference_of(query.quantity);
  return query;
}

bool MapHeatmap::shows_weights() const { return shown_stage(frame_.state) == Stage::Weights && !shows_norms(frame_.state); }

bool MapHeatmap::is_per_row() const {
  return shows_weights() && !head_map_shows_difference(frame_) && frame_.state.view.color_range == ColorRange::PerRow;
}

/// The range is of the whole map, so that zooming and panning change no colour, or the user's.
void MapHeatmap::set_colors(shell::HeatmapImage& image) const {
  if (head_map_shows_difference(frame_)) {
    const ValueRange range = known().tile ? known().facts->range : ValueRange();
    return set_difference_colors(image, range, kLeastDifference);
  }
  if (shows_weights()) {
    set_weight_colors(image, frame_.state, known(), is_per_row());
    return;
  }
  image.color_map = colors_of(shown_stage(frame_.state), frame_.state);
  float reach = 1e-6F;
  for (const ShownTile& shown : {known(), sharp_}) {
    if (!shown.tile) continue;
    const ValueRange range = shown.facts->range;
    reach = std::max({reach, std::abs(range.low), std::abs(range.high)});
  }
  if (shows_norms(frame_.state)) {
    image.spread = frame_.state.view.color_spread;
    image.high = reach;
    return;
  }
  const auto limits = frame_.state.view.color_limits.find(shown_stage(frame_.state));
  if (limits != frame_.state.view.color_limits.end()) reach = limits->second.high;
  image.low = -reach;
  image.high = reach;
}

/// Where the tile's cells are. The last value of a pooled tile stands for fewer cells than the others; what it covers too
/// much is clipped.
view::Rect MapHeatmap::area_of(const ShownTile& shown_tile) const {
  const TileQuery& shown = shown_tile.query;
  const glm::vec2 cell = viewport_.cell_size();
  return {.origin = viewport_.matrix().origin + glm::vec2(shown.column, shown.row) * cell,
          .size = glm::vec2(shown.tile_columns() * shown.column_pool(), shown.tile_rows() * shown.pool) * cell};
}

bool MapHeatmap::covers_all(const ShownTile& shown) const {
  if (!shown.tile) return false;
  constexpr float kSlack = 1e-3F;  // of a pixel: sums of floats
  const view::Rect cells = viewport_.visible();
  const view::Rect area = area_of(shown);
  return area.origin.x <= cells.origin.x + kSlack && area.origin.y <= cells.origin.y + kSlack &&
         area.end().x >= cells.end().x - kSlack && area.end().y >= cells.end().y - kSlack;
}

void MapHeatmap::draw() {
  const view::Rect cells = viewport_.visible();
  if (layers_ || (!covers_all(sharp_) && !covers_all(whole_))) {
    ImGui::GetWindowDrawList()->AddRectFilled(cells.origin, cells.end(), frame_.ui.theme().missing);
  }
  if (layers_) {
    for (const ShownTile& tile : layers_->tiles) draw_tile(tile);
    return;
  }
  if (whole_.tile && whole_.tile != sharp_.tile && !covers_all(sharp_)) draw_tile(whole_);
  if (sharp_.tile) draw_tile(sharp_);
}

void MapHeatmap::draw_bar(const view::Rect& bar) {
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
  draw_range_bar(frame_, {.area = bar, .stage = stage, .caption = caption, .is_fixed = is_fixed}, image);
}

bool MapHeatmap::has_range_choice() const { return !head_map_shows_difference(frame_) && !shows_norms(frame_.state); }

view::ValueLimits MapHeatmap::range() const {
  shell::HeatmapImage image;
  set_colors(image);
  return {.low = image.low, .high = image.high};
}

std::optional<RangeHint> MapHeatmap::hint() const {
  if (!known().tile || !shows_weights() || is_per_row() || head_map_shows_difference(frame_)) return std::nullopt;
  shell::HeatmapImage image;
  set_colors(image);
  return range_hint(known(), image, frame_.state.view.color_limits.contains(Stage::Weights));
}

void MapHeatmap::draw_small(const Minimap& minimap) {
  const view::Rect& area = minimap.area();
  ImGui::GetWindowDrawList()->AddRectFilled(area.origin, area.end(), frame_.ui.theme().missing);
  std::vector<ShownTile> tiles;
  if (layers_) {
    tiles = layers_->whole;
  } else if (whole_.tile) {
    tiles.push_back(whole_);
  }
  for (const ShownTile& tile : tiles) {
    shell::HeatmapImage image = heatmap_of(tile, kMinimapPlace, frame_.ui.theme());
    set_colors(image);
    image.area = minimap.area_of(tile.query);
    image.clip = area;
    image.grid = 0;
    if (is_per_row()) image.row_scale = tile.facts->row_scales;
    frame_.ui.heatmaps().draw(ImGui::GetWindowDrawList(), image);
  }
  minimap.draw_marks(viewport_);
}

bool MapHeatmap::is_sharp(const ShownTile& tile) const { return layers_ ? tile.query.is_exact() : tile.tile == sharp_.tile; }

void MapHeatmap::draw_tile(const ShownTile& shown_tile) {
  const TileQuery& shown = shown_tile.query;
  const view::Rect cells = viewport_.visible();
  const glm::vec2 cell = viewport_.cell_size();
  shell::HeatmapImage image = heatmap_of(shown_tile, kMapPlace, frame_.ui.theme());
  set_colors(image);
  image.area = area_of(shown_tile);
  image.clip = cells;
  if (is_per_row()) image.row_scale = shown_tile.facts->row_scales;
  frame_.ui.heatmaps().draw(ImGui::GetWindowDrawList(), image);
  if (!shown.is_exact() || !is_sharp(shown_tile)) return;
  ImGui::PushClipRect(cells.origin, cells.end(), true);
  const bool has_room = cell.x >= kLeastNumberCellWidth && cell.y >= kNumberCellHeight;
  if (has_room && frame_.state.view.show_numbers) draw_cell_numbers(frame_, image, *shown_tile.tile);
  draw_weight_marks(frame_, image, *shown_tile.tile);
  ImGui::PopClipRect();
}

}  // namespace headlight::app
