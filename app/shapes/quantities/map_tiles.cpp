#include "app/shapes/quantities/map_tiles.h"

#include <bit>
#include <iterator>

namespace headlight::app {
namespace {

/// Returns the cells that a value of a tile covers along one axis, which has `cells` cells.
double cells_of(std::uint32_t value, std::uint32_t pool, std::uint32_t cells) {
  return std::min(pool, cells - value * pool);
}

bool is_largest(const TileQuery& query) {
  return quantity(query.quantity).stage == attention::Stage::Weights && query.pooling == attention::Pooling::Max;
}

/// Puts a value of the level below into the value above: the larger one, or its part of the mean.
void put(double& above, double below, bool takes_largest, double share) {
  if (!takes_largest) {
    above += share * below;
  } else if (!std::isnan(above) && !(below <= above)) {  // a NaN stays
    above = below;
  }
}

bool is_inside(const TileQuery& part, const TileQuery& whole) {
  return part.row >= whole.row && part.row + part.rows <= whole.row + whole.rows && part.column >= whole.column &&
         part.column + part.columns <= whole.column + whole.columns;
}

/// Returns the place of a query whose pools are powers of two.
MapTile place_of(const TileQuery& query) {
  const std::int32_t level = std::countr_zero(query.pool), columns = std::countr_zero(query.column_pool());
  return {.level = static_cast<std::uint32_t>(level),
          .y = query.row / (kMapTileEdge * query.pool),
          .x = query.column / (kMapTileEdge * query.column_pool()),
          .more_columns = columns - level};
}

/// Is a tile of this pool and that one's part sharper along one side, and as sharp along the other?
bool is_finer(const TileQuery& part, const TileQuery& whole) {
  const bool is_coarser = part.pool > whole.pool || part.column_pool() > whole.column_pool();
  return !is_coarser && (part.pool < whole.pool || part.column_pool() < whole.column_pool());
}

bool is_map_tile(const TileQuery& query, std::uint32_t rows, std::uint32_t columns) {
  constexpr std::uint32_t kMaxPool = 1U << 20;  // as in attention/run.cpp: sums with edges don't overflow
  const auto is_level = [](std::uint32_t pool) { return std::has_single_bit(pool) && pool <= kMaxPool; };
  if (query.sampled_rows != 0 || !is_level(query.pool) || !is_level(query.column_pool())) return false;
  return query.row < rows && query.column < columns && query == tile_query(query, rows, columns, place_of(query));
}

double area(const TileQuery& tile) { return static_cast<double>(tile.rows) * tile.columns; }

/// Divides a tile into known tiles and the rest.
class Division {
 public:
  Division(const TileQuery& query, std::uint32_t rows, std::uint32_t columns)
      : query_(query), rows_(rows), columns_(columns) {}

  TileParts divide(const std::vector<TileQuery>& known) {
    visit(query_, known);
    return std::move(parts_);
  }

 private:
  void visit(const TileQuery& tile, const std::vector<TileQuery>& known) {
    constexpr double kMinShare = 0.25;
    std::vector<TileQuery> inside;
    double known_area = 0.0;  // what two levels know is counted twice: no harm, it is only a bound
    for (const TileQuery& candidate : known) {
      if (candidate == tile) return parts_.known.push_back(tile);
      if (!is_finer(candidate, tile) || !is_inside(candidate, tile)) continue;
      inside.push_back(candidate);
      known_area += area(candidate);
    }
    const std::vector<TileQuery> below =
        known_area < kMinShare * area(tile) ? std::vector<TileQuery>() : tiles_below(tile, rows_, columns_);
    for (const TileQuery& part : below) visit(part, inside);
    if (!below.empty()) return;
    TileQuery rest = tile;
    rest.pool = query_.pool;
    rest.pooled_columns = query_.pooled_columns;
    rest.pooling = query_.pooling;
    parts_.missing.push_back(rest);
  }

  TileQuery query_;
  std::uint32_t rows_, columns_;
  TileParts parts_;
};

}  // namespace

TileQuery tile_query(const TileQuery& map, std::uint32_t rows, std::uint32_t columns, const MapTile& tile) {
  TileQuery query = map;
  query.pool = 1U << tile.level;
  const std::uint32_t column_pool =
      1U << static_cast<std::uint32_t>(static_cast<std::int32_t>(tile.level) + tile.more_columns);
  query.pooled_columns = tile.more_columns == 0 ? 0 : column_pool;
  query.row = tile.y * kMapTileEdge * query.pool;
  query.column = tile.x * kMapTileEdge * column_pool;
  query.rows = std::min(kMapTileEdge * query.pool, rows - query.row);
  query.columns = std::min(kMapTileEdge * column_pool, columns - query.column);
  if (query.is_exact()) query.pooling = {};  // all ways of pooling give the same cells
  return query;
}

std::vector<MapTile> tiles_over(const TileQuery& rectangle) {
  const std::uint32_t height = kMapTileEdge * rectangle.pool, width = kMapTileEdge * rectangle.column_pool();
  MapTile tile = place_of(rectangle);
  const std::uint32_t first_column = tile.x;
  std::vector<MapTile> tiles;
  for (; tile.y * height < rectangle.row + rectangle.rows; ++tile.y) {
    for (tile.x = first_column; tile.x * width < rectangle.column + rectangle.columns; ++tile.x) tiles.push_back(tile);
  }
  return tiles;
}

std::vector<TileQuery> tiles_below(const TileQuery& query, std::uint32_t rows, std::uint32_t columns) {
  if (query.is_exact()) return {};
  const Quantity& asked = quantity(query.quantity);
  if (asked.base || asked.stage == attention::Stage::Masked) return {};  // pooled in other ways
  if (!is_map_tile(query, rows, columns)) return {};
  TileQuery first = query;  // a tile of the level below; a side at level 0 stays as it is
  first.pool = std::max(query.pool / 2, 1U);
  first.pooled_columns = std::max(query.column_pool() / 2, 1U);
  const MapTile upper_left = place_of(first);
  std::vector<TileQuery> below;
  MapTile part = upper_left;
  for (; part.y * kMapTileEdge * first.pool < query.row + query.rows; ++part.y) {
    for (part.x = upper_left.x; part.x * kMapTileEdge * first.column_pool() < query.column + query.columns; ++part.x) {
      below.push_back(tile_query(query, rows, columns, part));
    }
  }
  return below;
}

TileParts parts_of(const TileQuery& query, std::uint32_t rows, std::uint32_t columns, const std::vector<TileQuery>& known) {
  std::vector<TileQuery> tiles;
  std::ranges::copy_if(known, std::back_inserter(tiles),
                       [&](const TileQuery& candidate) { return is_map_tile(candidate, rows, columns); });
  return Division(query, rows, columns).divide(tiles);
}

attention::Tile reduce(const TileQuery& query, const std::vector<const attention::Tile*>& parts) {
  attention::Tile tile;
  tile.request = stage_request(query);
  const std::uint32_t width = query.tile_columns();
  const bool takes_largest = is_largest(query);
  std::vector<double> values(std::size_t{query.tile_rows()} * width, 0.0);
  const bool has_mask = std::ranges::none_of(parts, [](const attention::Tile* part) { return part->masked.empty(); });
  if (has_mask) tile.masked.assign(values.size(), 1);
  for (const attention::Tile* part : parts) {
    const attention::TileRequest& from = part->request;
    for (std::uint32_t row = 0; row < from.tile_rows(); ++row) {
      const std::uint32_t y = (from.row - query.row + row * from.pool) / query.pool;
      for (std::uint32_t column = 0; column < from.tile_columns(); ++column) {
        const std::uint32_t x = (from.column - query.column + column * from.column_pool()) / query.column_pool();
        const std::size_t at = std::size_t{y} * width + x;
        const double cells = cells_of(row, from.pool, from.rows) * cells_of(column, from.column_pool(), from.columns);
        const double all = cells_of(y, query.pool, query.rows) * cells_of(x, query.column_pool(), query.columns);
        put(values[at], double{part->at(row, column)}, takes_largest, cells / all);
        if (has_mask && !part->is_masked(row, column)) tile.masked[at] = 0;
      }
    }
    tile.largest = std::max(tile.largest, part->largest);
    if (from.column != query.column) continue;  // the rows' statistics come with the left parts
    tile.row_max.insert(tile.row_max.end(), part->row_max.begin(), part->row_max.end());
    tile.row_sum.insert(tile.row_sum.end(), part->row_sum.begin(), part->row_sum.end());
  }
  for (const double value : values) tile.values.push_back(static_cast<float>(value));
  return tile;
}

Evaluation tile_from_parts(TileQuery query, EvaluationSubject subject,
                           std::vector<std::shared_ptr<const attention::Tile>> known, std::vector<TileQuery> missing) {
  for (const TileQuery& part : missing) {
    attention::Tile tile = co_await quantity(part.quantity).evaluate(part, subject);
    known.push_back(std::make_shared<const attention::Tile>(std::move(tile)));
  }
  std::vector<const attention::Tile*> parts;
  for (const auto& part : known) parts.push_back(part.get());
  std::ranges::sort(parts, {},
                    [](const attention::Tile* part) { return std::pair(part->request.row, part->request.column); });
  co_return reduce(query, parts);
}

}  // namespace headlight::app
