#pragma once

#include "app/frame.h"
#include "view/viewport.h"

namespace headlight::app {

/// The room for a map's cells on the screen, and its size in cells.
struct MapRoom {
  view::Rect area;
  std::uint32_t rows = 0, columns = 0;
  view::CellPosition first = {};  ///< that is shown; padding may be before it

  /// The map at a zoom and pan. One lower than its room hangs from the top, below its head's name, instead of floating in
  /// the middle; zooming in lets it grow down to the bottom.
  view::Viewport viewport(float zoom, glm::vec2 pan) const;
};

/// What the pointer and the keyboard do on the big heatmap of the selected head:
///   wheel: zoom where the pointer is · 0 or a double click while zoomed in: fit
///   middle drag, Space or Shift + drag, and without the brush any drag: pan
///   click: pin the crosshair, or unpin it where it is; with the brush the right button does it
///   with the brush (Transient::paints), click or drag: mask cells, or unmask them when the first one was masked
/// Call it inside the window that shows the map, before drawing. Changes zoom, pan and hovered cell of the transient state,
/// masks and pin of the state; returns where the map is now. The pointer inside of `covered` isn't the map's.
view::Viewport handle_map_input(Frame& frame, const MapRoom& room, const view::Rect& covered = {});

}  // namespace headlight::app
