#pragma once

#include "app/frame.h"

namespace headlight::app {

/// The tabs of the main area, one for each view; and a remark when what they show is older than what was asked for.
/// Fills the whole current window.
void draw_tabs_panel(Frame& frame, float left_inset = 0.0F, float right_inset = 0.0F);

}  // namespace headlight::app
