#pragma once

#include <memory>

#include "app/views/view.h"
#include "app/widgets/range_bar.h"

namespace headlight::app {

/// The selected head's map over queries and keys, at the stage chosen: tokens on both axes, crosshair and tooltip, zoom and
/// pan, painting, colour bar. Draws into the whole current child region. `high_weight` is kept from frame to frame.
void draw_head_panel(Frame& frame, HighWeight& high_weight);

std::unique_ptr<ViewPanel> open_head_view();

}  // namespace headlight::app
