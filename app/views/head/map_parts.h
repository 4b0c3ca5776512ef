#pragma once

// Parts of the big map of the view Head.

#include "app/frame.h"
#include "app/widgets/map_layers.h"
#include "app/widgets/range_bar.h"
#include "app/widgets/shown_tile.h"

namespace headlight::app {

/// The room for a map's cells on the screen, and its size in cells.
struct MapRoom {
  chart::Rect area;
  std::uint32_t rows = 0, columns = 0;
  chart::CellPosition first = {};  ///< that is shown; padding may be before it

  /// Returns the map at a zoom and pan. One lower than its room hangs from the top, below its head's name, instead of
  /// floating in the middle; zooming in lets it grow down to the bottom.
  chart::Viewport viewport(float zoom, glm::vec2 pan) const;
};

/// The actions of pointer and keyboard on the big heatmap of the selected head:
///   wheel: zoom where the pointer is · 0 or a double click while zoomed in: fit
///   middle drag, Space or Shift + drag, and without the brush any drag: pan
///   click: pin the crosshair, or unpin it where it is; with the brush the right button does it
///   with the brush (Transient::paints), click or drag: mask cells, or unmask them when the first one was masked
/// Call it inside the window that shows the map, before drawing. Changes zoom, pan and hovered cell of the transient state,
/// masks and pin of the state; returns where the map is now. The pointer inside of `covered` isn't the map's.
chart::Viewport handle_map_input(Frame& frame, const MapRoom& room, const chart::Rect& covered = {});

/// The whole map, small, in the corner of a map that is larger than its room, with the visible part as a rectangle. Causal
/// maps are empty in that corner.
class Minimap {
 public:
  /// Places the map; call it before the map's own input. Clicking and dragging in it moves the large map, by changing pan.
  Minimap(Frame& frame, const MapRoom& room);

  /// Is the map larger than its room, and large enough that this helps?
  bool is_shown() const { return is_shown_; }
  /// Returns the minimap's area; empty where it isn't shown.
  const chart::Rect& area() const { return area_; }
  /// Returns the part of it that shows a tile.
  chart::Rect area_of(const TileQuery& tile) const;
  /// Draws the frame around the minimap, and the visible part; below the tiles.
  void draw_marks(const chart::Viewport& viewport) const;

 private:
  Frame& frame_;
  glm::vec2 first_, count_;  ///< columns and rows: before those that are shown, and of these
  chart::Rect area_;
  bool is_shown_ = false;
};

/// The big heatmap's cells: which tiles it asks for and shows, its colours and its range.
class MapHeatmap {
 public:
  /// Asks for the visible cells, and for the whole map pooled to the screen: it gives the colours' range and stands in
  /// until the rest is there.
  MapHeatmap(Frame& frame, const chart::Viewport& viewport);

  bool is_known() const { return known().tile; }
  bool has_masked_cells() const;
  bool has_odd_cells() const;  ///< NaN or infinite, and not masked

  void draw();
  /// Draws the whole map small, as far as it is known.
  void draw_small(const Minimap& minimap);
  /// Draws the colour bar, whose range the user may change.
  void draw_bar(const chart::Rect& bar);
  /// Can the user choose the bar's range? Not that of differences and norms: each map has its own.
  bool has_range_choice() const;
  chart::ValueLimits range() const;
  /// Returns what the colours leave out or don't use, and how to see it.
  std::optional<RangeHint> hint() const;

 private:
  TileQuery query(const chart::Region& region) const;
  bool shows_weights() const;
  bool is_per_row() const;
  void set_colors(shell::HeatmapImage& image) const;
  TiledMap::SetColors colors() const;
  const ShownTile& known() const { return tiles_.known(); }

  Frame& frame_;
  const chart::Viewport& viewport_;
  TiledMap tiles_;
};

inline constexpr float kBarRoom = 104.0F;  // right of a map: colour bar and legend, and the last slanted labels
inline constexpr float kBarWidth = 14.0F;
inline constexpr float kBarDrop = 24.0F;  // the bar's caption is beside the map, below the slanted labels
inline constexpr float kLegendDrop = 14.0F;

/// The legend below the colour bar: its range and scale, what to do when it shows next to nothing, what the stripes and the
/// colour of cells that aren't numbers mean, and the zoom while there is one.
class MapLegend {
 public:
  MapLegend(Frame& frame, const MapHeatmap& heatmap, float zoom);

  float height() const;
  void draw(glm::vec2 at);

 private:
  bool is_zoomed() const { return zoom_ > 1.001F; }
  void draw_scale(glm::vec2 at);
  float draw_hint(glm::vec2 at);

  Frame& frame_;
  std::optional<RangeHint> hint_;
  std::vector<std::string> hint_lines_;
  std::optional<RangeChoice> range_;
  bool has_scale_, has_masked_cells_, has_odd_cells_;
  float zoom_;
};

}  // namespace headlight::app
