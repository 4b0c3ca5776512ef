#pragma once

#include "app/frame.h"

namespace headlight::app {

/// Draws every head of every layer of the selected kind of block as a live thumbnail. A click selects; the pointer shows
/// layer, head, concentration and a larger heatmap. Draws into the whole current child region.
void draw_grid_panel(Frame& frame);

}  // namespace headlight::app
