#pragma once

#include <optional>

#include "app/frame.h"
#include "app/widgets/range_bar.h"
#include "app/widgets/shown_tile.h"
#include "view/viewport.h"

namespace headlight::app {

/// The big heatmap's cells: which tiles it wants and shows, its colours and its range.
class MapHeatmap {
 public:
  /// Wishes for the visible cells, and for the whole map pooled to the screen: it gives the colours' range and stands in
  /// until the rest is there.
  MapHeatmap(Frame& frame, const view::Viewport& viewport);

  bool is_known() const { return whole_.tile || sharp_.tile; }
  bool has_masked_cells() const;
  bool has_odd_cells() const;  ///< NaN or infinite, and not masked

  void draw();
  /// The colour bar, whose range the user may change.
  void draw_bar(const shell::UiRect& bar);
  /// Whether nearly all cells have one colour, and how to see more.
  std::optional<RangeHint> hint() const;

 private:
  TileQuery query(const view::Region& region) const;
  bool shows_weights() const;
  bool is_per_row() const;
  void set_colors(shell::HeatmapImage& image) const;
  void draw_tile(const ShownTile& shown_tile);
  shell::UiRect area_of(const ShownTile& shown_tile) const;
  /// Does the tile hide everything below it?
  bool covers_all(const ShownTile& shown) const;
  /// The whole map where it is known, else what is visible.
  const ShownTile& known() const { return whole_.tile ? whole_ : sharp_; }

  Frame& frame_;
  const view::Viewport& viewport_;
  ShownTile sharp_, whole_;
};

}  // namespace headlight::app
