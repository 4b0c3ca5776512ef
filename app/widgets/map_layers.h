#pragma once

#include "app/widgets/shown_tile.h"

namespace headlight::app {

/// Rows or columns from which a map is shown by tiles of its pyramid instead of as one rectangle.
inline constexpr std::uint32_t kLargeMap = 2048;
bool is_large_map(std::uint32_t rows, std::uint32_t columns);

/// What a view shows of a large map.
struct MapView {
  TileQuery visible;  ///< rectangle and pool of what is visible
  TileQuery whole;    ///< of the whole map, pooled to the room that it has
  std::uint32_t rows = 0, columns = 0;
};

/// The tiles that are known of it, in the order in which they are drawn: coarse ones below sharper ones, and where the tile
/// of the level is missing those of finer levels above coarser ones.
struct MapLayers {
  std::vector<ShownTile> tiles;
  std::vector<ShownTile> whole;  ///< those of the whole map
  ShownTile summary;  ///< facts about the whole map as far as it is known, and one of its tiles; no tile: nothing is known
  std::shared_ptr<const TileFacts> facts;  ///< the summary's
};

/// Asks for the visible tiles, then for the row statistics that give the weights' range, then for the tiles of the whole
/// map, and returns those that are known.
MapLayers find_layers(Frame& frame, const MapView& view);

}  // namespace headlight::app
