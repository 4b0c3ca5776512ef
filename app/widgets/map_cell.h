#pragma once

#include "app/frame.h"

namespace headlight::app {

/// A cell of a small map with its number, where that fits; the colour of a missing tile without a finite one. A selected or
/// pointed-at cell has a frame.
struct MapCell {
  view::Rect box;
  std::optional<double> value = {};
  double largest = 0.0;   ///< at the end of the colours
  bool is_signed = true;  ///< 0 is the middle of the colours, −`largest` their other end; else 0 is that
  bool is_selected = false, is_hovered = false;
};
void draw_map_cell(const Frame& frame, const MapCell& cell);

}  // namespace headlight::app
