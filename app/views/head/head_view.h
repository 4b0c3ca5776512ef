#pragma once

#include "app/views/head/head_parts.h"
#include "app/views/view.h"

namespace headlight::app {

/// The view's state from frame to frame.
struct HeadMemory {
  GroupedHead grouped;
  RowReveal new_row;
};

/// Draws the selected head's map over queries and keys, at the stage chosen: tokens on both axes, crosshair and tooltip,
/// zoom and pan, painting, colour bar. Draws into the whole current child region. `memory` is kept from frame to frame.
void draw_head_panel(Frame& frame, HeadMemory& memory);

}  // namespace headlight::app
