#include "app/views/head/map_heatmap.h"

#include <algorithm>
#include <cmath>

#include <imgui.h>

#include "app/quantities/shown_map.h"
#include "app/widgets/cell_numbers.h"

namespace headlight::app {
namespace {

using attention::Stage;

constexpr std::uint32_t kMapPlace = 0x4D;
constexpr std::uint32_t kSnap = 32;  // values

/// Widened to multiples of kSnap values, so that panning by a few cells asks for the same tile again.
view::Region snapped(view::Region region, std::uint32_t rows, std::uint32_t columns) {
  const auto widen = [&](std::uint32_t& first, std::uint32_t& count, std::uint32_t all) {
    const std::uint32_t snap = kSnap * region.pool;
    const std::uint32_t end = std::min((first + count + snap - 1) / snap * snap, all);
    first = first / snap * snap;
    count = end - first;
  };
  widen(region.row, region.rows, rows);
  widen(region.column, region.columns, columns);
  return region;
}

}  // namespace

MapHeatmap::MapHeatmap(Frame& frame, const view::Viewport& viewport) : frame_(frame), viewport_(viewport) {
  const float scale = frame.ui.scale();
  const view::Viewport fitted(viewport.area(), viewport.rows(), viewport.columns());
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
  return shown_map(selection, {.quantity = shown_stage(frame_.state),
                               .block = selection.block,
                               .batch = selection.batch,
                               .head = selection.head,
                               .row = region.row,
                               .rows = std::max(region.rows, 1U),
                               .column = region.column,
                               .columns = std::max(region.columns, 1U),
                               .pool = region.pool});
}

bool MapHeatmap::shows_weights() const { return shown_stage(frame_.state) == Stage::Weights; }

bool MapHeatmap::is_per_row() const { return shows_weights() && frame_.state.view.color_range == ColorRange::PerRow; }

/// The range is of the whole map, so that zooming and panning change no colour, or the user's.
void MapHeatmap::set_colors(shell::HeatmapImage& image) const {
  if (shows_weights()) {
    set_weight_colors(image, frame_.state, known(), is_per_row());
    return;
  }
  image.color_map = colors_of(shown_stage(frame_.state), frame_.state);
  float reach = 1e-6F;
  for (const ShownTile& shown : {whole_, sharp_}) {
    if (!shown.tile) continue;
    const ValueRange range = shown.facts->range;
    reach = std::max({reach, std::abs(range.low), std::abs(range.high)});
  }
  const auto limits = frame_.state.view.color_limits.find(shown_stage(frame_.state));
  if (limits != frame_.state.view.color_limits.end()) reach = limits->second.high;
  image.low = -reach;
  image.high = reach;
}

/// Where the tile's cells are. The last value of a pooled tile stands for fewer cells than the others; what it covers too
/// much is clipped.
shell::UiRect MapHeatmap::area_of(const ShownTile& shown_tile) const {
  const TileQuery& shown = shown_tile.query;
  const view::Rect matrix = viewport_.matrix();
  return {.x = matrix.x + static_cast<float>(shown.column) * viewport_.cell_width(),
          .y = matrix.y + static_cast<float>(shown.row) * viewport_.cell_height(),
          .width = static_cast<float>(shown.tile_columns() * shown.pool) * viewport_.cell_width(),
          .height = static_cast<float>(shown.tile_rows() * shown.pool) * viewport_.cell_height()};
}

bool MapHeatmap::covers_all(const ShownTile& shown) const {
  if (!shown.tile) return false;
  constexpr float kSlack = 1e-3F;  // of a pixel: sums of floats
  const view::Rect cells = viewport_.visible();
  const shell::UiRect area = area_of(shown);
  return area.x <= cells.x + kSlack && area.y <= cells.y + kSlack && area.x + area.width >= cells.right() - kSlack &&
         area.y + area.height >= cells.bottom() - kSlack;
}

void MapHeatmap::draw() {
  const view::Rect cells = viewport_.visible();
  if (!covers_all(sharp_) && !covers_all(whole_)) {
    ImGui::GetWindowDrawList()->AddRectFilled(ImVec2(cells.x, cells.y), ImVec2(cells.right(), cells.bottom()),
                                              frame_.ui.theme().missing);
  }
  if (whole_.tile && whole_.tile != sharp_.tile && !covers_all(sharp_)) draw_tile(whole_);
  if (sharp_.tile) draw_tile(sharp_);
}

void MapHeatmap::draw_bar(const shell::UiRect& bar) {
  shell::HeatmapImage image;
  set_colors(image);
  const Stage stage = shown_stage(frame_.state);
  const char* caption = is_per_row() ? "of row's largest" : quantity(stage).unit.c_str();
  draw_range_bar(frame_, {.area = bar, .stage = stage, .caption = caption, .is_fixed = is_per_row()}, image);
}

std::optional<RangeHint> MapHeatmap::hint() const {
  if (!known().tile || !shows_weights() || is_per_row()) return std::nullopt;
  shell::HeatmapImage image;
  set_colors(image);
  return range_hint(known(), image, frame_.state.view.color_limits.contains(Stage::Weights));
}

void MapHeatmap::draw_tile(const ShownTile& shown_tile) {
  const TileQuery& shown = shown_tile.query;
  const view::Rect cells = viewport_.visible();
  shell::HeatmapImage image = heatmap_of(shown_tile, kMapPlace, frame_.ui.theme());
  set_colors(image);
  image.area = area_of(shown_tile);
  image.clip = shell::UiRect{.x = cells.x, .y = cells.y, .width = cells.width, .height = cells.height};
  if (is_per_row()) image.row_scale = shown_tile.facts->row_scales;
  frame_.ui.heatmaps().draw(ImGui::GetWindowDrawList(), image);
  if (shown.pool != 1 || shown_tile.tile != sharp_.tile) return;
  ImGui::PushClipRect(ImVec2(cells.x, cells.y), ImVec2(cells.right(), cells.bottom()), true);
  const bool has_room = viewport_.cell_width() >= kLeastNumberCellWidth && viewport_.cell_height() >= kNumberCellHeight;
  if (has_room && frame_.state.view.show_numbers) draw_cell_numbers(frame_, image, *shown_tile.tile);
  draw_rows_without_weights(frame_, image, *shown_tile.tile);
  ImGui::PopClipRect();
}

}  // namespace headlight::app
