#pragma once

#include "app/frame.h"

namespace headlight::app {

/// The selected head's map over queries and keys, at the stage chosen: tokens on both axes, crosshair and tooltip, zoom and
/// pan, painting, colour bar. Draws into the whole current child region.
void draw_head_panel(Frame& frame);

}  // namespace headlight::app
