#pragma once

#include "app/widgets/shown_tile.h"
#include "chart/viewport.h"

namespace headlight::app {

/// Rows or columns from which a map is shown by tiles of its pyramid instead of as one rectangle.
inline constexpr std::uint32_t kLargeMap = 2048;
bool is_large_map(std::uint32_t rows, std::uint32_t columns);

/// The queries of a view of a large map.
struct MapView {
  TileQuery visible;  ///< rectangle and pool of what is visible
  TileQuery whole;    ///< of the whole map, pooled to the room that it has
  std::uint32_t rows = 0, columns = 0;
};

/// The known tiles of a view, in the order in which they are drawn: coarse ones below sharper ones, and where the tile of
/// the level is missing those of finer levels above coarser ones.
struct MapLayers {
  std::vector<ShownTile> tiles;
  std::vector<ShownTile> whole;  ///< those of the whole map
  ShownTile summary;  ///< facts about the whole map as far as it is known, and one of its tiles; no tile: nothing is known
  std::shared_ptr<const TileFacts> facts;  ///< the summary's
};

/// Asks for the visible tiles, then for the row statistics that give the weights' range, then for the tiles of the whole
/// map, and returns those that are known.
MapLayers find_layers(Frame& frame, const MapView& view);

/// A map on screen at its zoom, as far as its tiles are known: large ones as layers, others as the tile of what is visible
/// over that of the whole map.
class TiledMap {
 public:
  /// `map`: returns the query for a region of it. Asks for what is visible, and for the whole map pooled to the screen,
  /// which gives the colours' range and stands in until the rest is there. `place` names the map among the window's images.
  TiledMap(Frame& frame, const chart::Viewport& viewport, std::uint32_t place,
           const std::function<TileQuery(const chart::Region&)>& map);
  /// Returns the whole map where it is known, else what is visible; no tile: nothing is known.
  const ShownTile& known() const { return layers_ ? layers_->summary : whole_.tile ? whole_ : sharp_; }
  /// Returns the tile of what is visible; no tile for a large map.
  const ShownTile& visible() const { return sharp_; }
  /// Returns all cells, where they are known without pooling; else null.
  const attention::Tile* exact() const { return whole_.tile && whole_.query.is_exact() ? whole_.tile : nullptr; }
  /// `colors` sets colours and range of a tile's image. Cells that are large enough have their numbers.
  using SetColors = std::function<void(shell::HeatmapImage& image, const ShownTile& shown)>;
  void draw(const SetColors& colors) const;
  /// Draws the whole map without numbers into a small rectangle. `area_of`: returns a tile's area there.
  void draw_small(const chart::Rect& area, const std::function<chart::Rect(const TileQuery&)>& area_of,
                  const SetColors& colors) const;

 private:
  /// Does the tile hide everything below it?
  bool covers_all(const ShownTile& shown) const;
  chart::Rect area_of(const TileQuery& shown) const;
  void draw_tile(const ShownTile& shown, const SetColors& colors) const;

  Frame& frame_;
  const chart::Viewport& viewport_;
  std::uint32_t place_;
  ShownTile sharp_, whole_;
  std::optional<MapLayers> layers_;  ///< instead of both, of a large map
};

}  // namespace headlight::app
