#pragma once

#include "app/frame.h"
#include "view/viewport.h"

namespace headlight::app {

/// Clicks on the labels left of the map and above it: the row or the column is locked, and released by another click or Esc.
/// `margins`: width and height of the labels.
void handle_axis_clicks(Frame& frame, const view::Viewport& viewport, glm::vec2 margins);

}  // namespace headlight::app
