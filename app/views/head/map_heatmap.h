#pragma once

#include "app/views/head/minimap.h"
#include "app/widgets/map_layers.h"
#include "app/widgets/range_bar.h"
#include "view/viewport.h"

namespace headlight::app {

/// The big heatmap's cells: which tiles it asks for and shows, its colours and its range.
class MapHeatmap {
 public:
  /// Asks for the visible cells, and for the whole map pooled to the screen: it gives the colours' range and stands in
  /// until the rest is there.
  MapHeatmap(Frame& frame, const view::Viewport& viewport);

  bool is_known() const { return known().tile; }
  bool has_masked_cells() const;
  bool has_odd_cells() const;  ///< NaN or infinite, and not masked

  void draw();
  /// The same of the whole map, as far as it is known.
  void draw_small(const Minimap& minimap);
  /// The colour bar, whose range the user may change.
  void draw_bar(const view::Rect& bar);
  /// Can the user choose the bar's range? Not of differences and norms: each map has its own.
  bool has_range_choice() const;
  view::ValueLimits range() const;
  /// What the colours leave out or don't use, and how to see it.
  std::optional<RangeHint> hint() const;

 private:
  TileQuery query(const view::Region& region) const;
  bool shows_weights() const;
  bool is_per_row() const;
  void set_colors(shell::HeatmapImage& image) const;
  TiledMap::SetColors colors() const;
  const ShownTile& known() const { return tiles_.known(); }

  Frame& frame_;
  const view::Viewport& viewport_;
  TiledMap tiles_;
};

}  // namespace headlight::app
