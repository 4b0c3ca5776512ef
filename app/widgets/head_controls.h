#pragma once

#include "app/frame.h"

namespace headlight::app {

/// The selected head, arrows to its neighbours, and its gain: for panels without a map to select heads. One line,
/// or two where that is too narrow.
void draw_head_controls(Frame& frame);

}  // namespace headlight::app
