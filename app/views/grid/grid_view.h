#pragma once

#include "app/frame.h"

namespace headlight::app {

/// Draws every head of every layer of the selected kind of block as a live thumbnail. A click selects; the pointer shows
/// layer, head, concentration and a larger heatmap. Draws into the current child region; `properties`: the height, UI units,
/// that what is drawn below needs.
void draw_grid_panel(Frame& frame, float properties);

}  // namespace headlight::app
