#pragma once

#include <memory>

#include "app/views/view.h"

namespace headlight::app {

/// The selected head's map over queries and keys, at the stage chosen: tokens on both axes, crosshair and tooltip, zoom and
/// pan, painting, colour bar. Draws into the whole current child region.
void draw_head_panel(Frame& frame);

std::unique_ptr<ViewPanel> open_head_view();

}  // namespace headlight::app
