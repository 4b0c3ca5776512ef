#pragma once

#include "app/frame.h"

namespace headlight::app {

/// Draws what is selected, below the grid of heads: the pinned cell with its sum, the token, and the head with its metrics
/// and its gain.
void draw_properties(Frame& frame);

}  // namespace headlight::app
