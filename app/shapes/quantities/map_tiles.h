#pragma once

#include "app/shapes/quantities/evaluation.h"
#include "app/shapes/quantities/tile_query.h"

namespace headlight::app {

/// Edge of the tiles of a map, in values.
inline constexpr std::uint32_t kMapTileEdge = 256;

/// One tile of a map's pyramid: at level 0 a value is a cell, at each level above a square of 2 × 2 values of the one below.
/// The columns of a map with sides of very different lengths may be pooled by other levels than its rows.
struct MapTile {
  std::uint32_t level = 0, y = 0, x = 0;  ///< row and column of the tile among its level's
  std::int32_t more_columns = 0;          ///< levels by which columns are pooled more than rows; negative: less

  auto operator<=>(const MapTile&) const = default;
};

/// Returns the tile as a query. `map` names the map (its rectangle is ignored), of rows × columns cells; tiles at the lower
/// and at the right edge end with it. The tile must begin inside of the map.
TileQuery tile_query(const TileQuery& map, std::uint32_t rows, std::uint32_t columns, const MapTile& tile);

/// Returns the tiles of the level with this pool, a power of two, that cover a rectangle of the map, row by row.
std::vector<MapTile> tiles_over(const TileQuery& rectangle);

/// Returns the tiles of the level below that a tile consists of: four, or fewer at the map's edges and where one side is at
/// level 0 already. None for level 0 of both sides, for queries that aren't a tile of a map of rows × columns cells, for
/// samples, for differences, and for masked scores, whose mean is over visible cells alone.
std::vector<TileQuery> tiles_below(const TileQuery& query, std::uint32_t rows, std::uint32_t columns);

/// The parts that a tile is made from: known tiles of finer levels, each a part of its own, and the rest as rectangles that
/// are pooled as the tile is. The rest is the whole tile when no part is known.
struct TileParts {
  std::vector<TileQuery> known, missing;
};
/// Returns the parts of a tile of a map of rows × columns cells, where `known` tiles of that map have numbers. A square of
/// which less than a quarter is known is one missing rectangle: many small ones cost a device more than they save.
TileParts parts_of(const TileQuery& query, std::uint32_t rows, std::uint32_t columns, const std::vector<TileQuery>& known);

/// Returns the tile of a query from the numbers of parts that cover it once, row by row: the largest or, as sum of sums, the
/// mean.
attention::Tile reduce(const TileQuery& query, const std::vector<const attention::Tile*>& parts);

/// Returns the evaluation of a tile with some known parts: the `missing` ones are evaluated, and all of them reduced.
Evaluation tile_from_parts(TileQuery query, EvaluationSubject subject,
                           std::vector<std::shared_ptr<const attention::Tile>> known, std::vector<TileQuery> missing);

}  // namespace headlight::app
