#include "app/widgets/map_layers.h"

#include "app/shapes/quantities/map_tiles.h"
#include "app/state/map_settings.h"
#include "app/widgets/cell_numbers.h"
#include "app/widgets/controls.h"

namespace headlight::app {
namespace {

/// Facts of the tiles together. `column`: a column of all rows, whose statistics give the largest weight; may be missing.
TileFacts summarise(const std::vector<ShownTile>& tiles, const ShownTile& column) {
  TileFacts facts;
  bool is_first = true;
  for (const ShownTile& tile : tiles) {
    facts.has_masked = facts.has_masked || tile.facts->has_masked;
    facts.has_odd = facts.has_odd || tile.facts->has_odd;
    facts.largest_weight = std::max(facts.largest_weight, tile.facts->largest_weight);
    facts.high_weight = std::max(facts.high_weight, tile.facts->high_weight);
    const bool has_values = tile.facts->range.low < tile.facts->range.high;
    if (!has_values) continue;
    facts.range.low = is_first ? tile.facts->range.low : std::min(facts.range.low, tile.facts->range.low);
    facts.range.high = is_first ? tile.facts->range.high : std::max(facts.range.high, tile.facts->range.high);
    is_first = false;
  }
  if (column.tile) facts.largest_weight = column.facts->largest_weight;
  return facts;
}

/// Has the map the range of its rows? The range of means over squares isn't that of the weights.
bool has_range_of_rows(const TileQuery& whole) {
  return quantity(whole.quantity).stage == attention::Stage::Weights && !quantity(whole.quantity).base &&
         (whole.is_exact() || whole.pooling == attention::Pooling::Max);
}

constexpr std::uint32_t kSnap = 32;  // values

/// Returns the region, widened to multiples of kSnap values, so that panning by a few cells asks for the same tile again.
chart::Region snapped(chart::Region region, std::uint32_t rows, std::uint32_t columns) {
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

bool is_large_map(std::uint32_t rows, std::uint32_t columns) { return std::max(rows, columns) > kLargeMap; }

MapLayers find_layers(Frame& frame, const MapView& view) {
  std::vector<ShownTile> sharp, covers, finer, coarse;
  for (const MapTile& tile : tiles_over(view.visible)) {
    const TileQuery query = tile_query(view.visible, view.rows, view.columns, tile);
    const ShownTile shown = find_tile(frame, query);
    if (shown.tile) {
      sharp.push_back(shown);
      continue;
    }
    if (const ShownTile cover = find_covering_tile(frame.result, query); cover.tile) covers.push_back(cover);
    for (const ShownTile& part : find_finer_tiles(frame.result, query)) finer.push_back(part);
  }
  ShownTile column;
  if (has_range_of_rows(view.whole)) {
    TileQuery query = view.whole;
    query.row = query.column = 0;
    query.rows = view.rows;
    query.columns = query.pool = 1;
    query.pooled_columns = 0;
    query.pooling = {};
    column = find_tile(frame, query);
  }
  for (const MapTile& tile : tiles_over(view.whole)) {
    const TileQuery query = tile_query(view.whole, view.rows, view.columns, tile);
    if (const ShownTile shown = find_tile(frame, query); shown.tile) coarse.push_back(shown);
  }
  std::ranges::sort(covers, std::greater(),
                    [](const ShownTile& tile) { return tile.query.pool * tile.query.column_pool(); });

  MapLayers layers;
  layers.facts = std::make_shared<const TileFacts>(summarise(coarse.empty() ? sharp : coarse, column));
  if (!coarse.empty() || !sharp.empty()) layers.summary = coarse.empty() ? sharp.front() : coarse.front();
  if (layers.summary.tile) layers.summary.facts = layers.facts.get();
  for (const std::vector<ShownTile>* part : {&coarse, &covers, &finer, &sharp}) {
    for (const ShownTile& tile : *part) {
      const bool is_drawn =
          std::ranges::any_of(layers.tiles, [&](const ShownTile& known) { return known.tile == tile.tile; });
      if (!is_drawn) layers.tiles.push_back(tile);
    }
  }
  layers.whole = std::move(coarse);
  return layers;
}

TiledMap::TiledMap(Frame& frame, const chart::Viewport& viewport, std::uint32_t place,
                   const std::function<TileQuery(const chart::Region&)>& map)
    : frame_(frame), viewport_(viewport), place_(place) {
  const float scale = frame.ui.scale();
  const std::uint32_t rows = viewport.rows(), columns = viewport.columns();
  const chart::Region visible = viewport.visible_region(scale);
  const TileQuery whole = map(viewport.fitted().visible_region(scale));
  if (is_large_map(rows, columns)) {
    layers_ = find_layers(frame, {.visible = map(visible), .whole = whole, .rows = rows, .columns = columns});
    return;
  }
  const auto find = [&](const TileQuery& query) {
    const ShownTile shown = find_tile(frame, query);
    return shown.tile ? shown : find_covering_tile(frame.result, query);
  };
  sharp_ = find(map(snapped(visible, rows, columns)));  // what is visible is asked for first
  whole_ = find(whole);
}

/// Returns the area of the tile's cells. The last value of a pooled tile stands for fewer cells than the others; the part of
/// it beyond the map is clipped.
chart::Rect TiledMap::area_of(const TileQuery& shown) const {
  const glm::vec2 cell = viewport_.cell_size();
  return {.origin = viewport_.matrix().origin + glm::vec2(shown.column, shown.row) * cell,
          .size = glm::vec2(shown.tile_columns() * shown.column_pool(), shown.tile_rows() * shown.pool) * cell};
}

bool TiledMap::covers_all(const ShownTile& shown) const {
  if (!shown.tile) return false;
  constexpr float kSlack = 1e-3F;  // of a pixel: sums of floats
  const chart::Rect cells = viewport_.visible();
  const chart::Rect area = area_of(shown.query);
  return glm::all(glm::lessThanEqual(area.origin, cells.origin + kSlack)) &&
         glm::all(glm::greaterThanEqual(area.end(), cells.end() - kSlack));
}

void TiledMap::draw(const SetColors& colors) const {
  if (layers_ || (!covers_all(sharp_) && !covers_all(whole_))) fill_rect(viewport_.visible(), frame_.ui.theme().missing);
  if (layers_) {
    for (const ShownTile& tile : layers_->tiles) draw_tile(tile, colors);
    return;
  }
  if (whole_.tile && whole_.tile != sharp_.tile && !covers_all(sharp_)) draw_tile(whole_, colors);
  if (sharp_.tile) draw_tile(sharp_, colors);
}

void TiledMap::draw_small(const chart::Rect& area, const std::function<chart::Rect(const TileQuery&)>& area_of,
                          const SetColors& colors) const {
  fill_rect(area, frame_.ui.theme().missing);
  for (const ShownTile& tile : layers_ ? layers_->whole : std::vector(whole_.tile ? 1 : 0, whole_)) {
    shell::HeatmapImage image = heatmap_of(tile, place_ + 1, frame_.ui.theme());
    colors(image, tile);
    image.area = area_of(tile.query);
    image.clip = area;
    image.grid = 0;
    draw_heatmap(frame_, image);
  }
}

void TiledMap::draw_tile(const ShownTile& shown, const SetColors& colors) const {
  const chart::Rect cells = viewport_.visible();
  const glm::vec2 cell = viewport_.cell_size();
  shell::HeatmapImage image = heatmap_of(shown, place_, frame_.ui.theme());
  colors(image, shown);
  image.area = area_of(shown.query);
  image.clip = cells;
  draw_heatmap(frame_, image);
  const bool is_sharp = layers_ || shown.tile == sharp_.tile;
  if (!shown.query.is_exact() || !is_sharp) return;
  ImGui::PushClipRect(to_imgui(cells.origin), to_imgui(cells.end()), true);
  const bool has_room = cell.x >= kMinNumberCellWidth && cell.y >= kNumberCellHeight;
  if (has_room && frame_.state[kMapView.show_numbers]) draw_cell_numbers(frame_, image, *shown.tile);
  draw_weight_marks(frame_, image, *shown.tile);
  ImGui::PopClipRect();
}

}  // namespace headlight::app
