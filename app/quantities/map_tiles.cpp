#include "app/quantities/map_tiles.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace headlight::app {
namespace {

/// Cells that a value of a tile covers along one axis, of which the tile has `cells`.
double cells_of(std::uint32_t value, std::uint32_t pool, std::uint32_t cells) {
  return std::min(pool, cells - value * pool);
}

bool is_largest(const TileQuery& query) {
  return quantity(query.quantity).stage == attention::Stage::Weights && query.pooling == attention::Pooling::Max;
}

/// Puts a value of the level below into the value above: the larger one, or its part of the mean.
void put(float& above, float below, bool takes_largest, double share) {
  if (!takes_largest) {
    above += static_cast<float>(share * double{below});
  } else if (!std::isnan(above) && !(below <= above)) {  // a NaN stays
    above = below;
  }
}

}  // namespace

TileQuery tile_query(const TileQuery& map, std::uint32_t rows, std::uint32_t columns, const MapTile& tile) {
  TileQuery query = map;
  query.pool = 1U << tile.level;
  const std::uint32_t edge = kMapTileEdge * query.pool;
  query.row = tile.y * edge;
  query.column = tile.x * edge;
  query.rows = std::min(edge, rows - query.row);
  query.columns = std::min(edge, columns - query.column);
  if (query.pool == 1) query.pooling = {};  // the same cells either way
  return query;
}

std::vector<MapTile> tiles_over(const TileQuery& rectangle) {
  const auto level = static_cast<std::uint32_t>(std::bit_width(rectangle.pool) - 1);
  const std::uint32_t edge = kMapTileEdge * rectangle.pool;
  std::vector<MapTile> tiles;
  for (std::uint32_t y = rectangle.row / edge; y * edge < rectangle.row + rectangle.rows; ++y) {
    for (std::uint32_t x = rectangle.column / edge; x * edge < rectangle.column + rectangle.columns; ++x) {
      tiles.push_back({.level = level, .y = y, .x = x});
    }
  }
  return tiles;
}

std::vector<TileQuery> tiles_below(const TileQuery& query, std::uint32_t rows, std::uint32_t columns) {
  if (query.pool < 2 || !std::has_single_bit(query.pool)) return {};
  const Quantity& asked = quantity(query.quantity);
  if (asked.base || asked.stage == attention::Stage::Masked) return {};  // pooled in other ways
  const std::uint32_t edge = kMapTileEdge * query.pool;
  const MapTile tile{
      .level = static_cast<std::uint32_t>(std::bit_width(query.pool) - 1), .y = query.row / edge, .x = query.column / edge};
  if (query != tile_query(query, rows, columns, tile)) return {};
  std::vector<TileQuery> below;
  for (const std::uint32_t y : {0U, 1U}) {
    for (const std::uint32_t x : {0U, 1U}) {
      const MapTile part{.level = tile.level - 1, .y = 2 * tile.y + y, .x = 2 * tile.x + x};
      const bool is_inside = part.y * (edge / 2) < rows && part.x * (edge / 2) < columns;
      if (is_inside) below.push_back(tile_query(query, rows, columns, part));
    }
  }
  return below;
}

attention::Tile reduce(const TileQuery& query, const std::vector<const attention::Tile*>& below) {
  attention::Tile tile;
  tile.request = stage_request(query);
  const std::uint32_t width = query.tile_columns();
  tile.values.assign(std::size_t{query.tile_rows()} * width, 0.0F);
  const bool takes_largest = is_largest(query);
  const bool has_mask = std::ranges::none_of(below, [](const attention::Tile* part) { return part->masked.empty(); });
  if (has_mask) tile.masked.assign(tile.values.size(), 1);
  for (const attention::Tile* part : below) {
    const attention::TileRequest& from = part->request;
    const std::uint32_t first_row = (from.row - query.row) / from.pool,
                        first_column = (from.column - query.column) / from.pool;
    for (std::uint32_t row = 0; row < from.tile_rows(); ++row) {
      for (std::uint32_t column = 0; column < from.tile_columns(); ++column) {
        const std::uint32_t y = (first_row + row) / 2, x = (first_column + column) / 2;
        const std::size_t at = std::size_t{y} * width + x;
        const double cells = cells_of(row, from.pool, from.rows) * cells_of(column, from.pool, from.columns);
        const double all = cells_of(y, query.pool, query.rows) * cells_of(x, query.pool, query.columns);
        put(tile.values[at], part->at(row, column), takes_largest, cells / all);
        if (has_mask && !part->is_masked(row, column)) tile.masked[at] = 0;
      }
    }
    if (from.column != query.column) continue;  // the rows' statistics come with the left parts
    tile.row_max.insert(tile.row_max.end(), part->row_max.begin(), part->row_max.end());
    tile.row_sum.insert(tile.row_sum.end(), part->row_sum.begin(), part->row_sum.end());
  }
  return tile;
}

}  // namespace headlight::app
