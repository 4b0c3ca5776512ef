#pragma once

#include "app/views/head/map_input.h"
#include "app/widgets/shown_tile.h"
#include "view/viewport.h"

namespace headlight::app {

/// The whole map, small, in the corner of a map that is larger than its room, with the visible part as a rectangle. Causal
/// maps are empty in that corner.
class Minimap {
 public:
  /// Where it is now; call it before the map's own input. Clicking and dragging in it moves the map, by changing pan.
  Minimap(Frame& frame, const MapRoom& room);

  /// Is the map larger than its room, and large enough that this helps?
  bool is_shown() const { return is_shown_; }
  /// Empty where it isn't shown.
  const view::Rect& area() const { return area_; }
  /// The part of it that shows a tile.
  view::Rect area_of(const TileQuery& tile) const;
  /// The frame around it, and the visible part; behind the tiles.
  void draw_marks(const view::Viewport& viewport) const;

 private:
  Frame& frame_;
  glm::vec2 first_, count_;  ///< columns and rows: before those that are shown, and of these
  view::Rect area_;
  bool is_shown_ = false;
};

}  // namespace headlight::app
