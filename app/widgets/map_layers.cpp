#include "app/widgets/map_layers.h"

#include "app/quantities/map_tiles.h"

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

/// The range of means over squares isn't that of the weights.
bool has_range_of_rows(const TileQuery& whole) {
  return quantity(whole.quantity).stage == attention::Stage::Weights && !quantity(whole.quantity).base &&
         (whole.is_exact() || whole.pooling == attention::Pooling::Max);
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

}  // namespace headlight::app
