#pragma once

#include "app/widgets/map_layers.h"
#include "app/widgets/shown_tile.h"
#include "view/viewport.h"

namespace headlight::app {

/// One of the view's maps: asks for the tiles of what is visible and of the whole map, and draws those that are known.
class WeightMap {
 public:
  /// `map`: which weights; its rectangle is ignored. `place` names the map among the window's images.
  WeightMap(Frame& frame, const TileQuery& map, const view::Viewport& viewport, std::uint32_t place);

  /// The largest weight that is known; 0: none yet.
  float largest() const;
  /// Weights up to `largest` have the colours, or the range that the user has fixed.
  void draw(float largest);
  /// Their colours and range alone.
  shell::HeatmapImage colors(float largest) const;
  /// All cells, where they are known without pooling; else null.
  const attention::Tile* exact() const;

 private:
  TileQuery query(const view::Region& region) const;
  void set_colors(shell::HeatmapImage& image, float largest) const;
  void draw_tile(const ShownTile& shown, float largest);

  Frame& frame_;
  const view::Viewport& viewport_;
  TileQuery map_;
  std::uint32_t place_;
  ShownTile sharp_, whole_;
  std::optional<MapLayers> layers_;  ///< instead of both, of a large map
};

/// How much two maps of equal shape have in common.
struct SharedWeight {
  double mean = 0.0;           ///< over the queries: Σ over keys of the smaller of both weights, 1 where rows are equal
  double least = 1.0;          ///< the least of a row …
  std::uint32_t least_at = 0;  ///< … and its query
};
/// Of the rows of `queries` that have weights in both maps, or in one of them (which share nothing); nullopt where no row
/// has.
std::optional<SharedWeight> shared_weight(const attention::Tile& left, const attention::Tile& right,
                                          attention::KeyRange queries);

}  // namespace headlight::app
