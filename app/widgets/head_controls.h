#pragma once

#include "app/frame.h"

namespace headlight::app {

/// Which head is selected, arrows to its neighbours, and its gain: for panels that show no map to choose it from. One line,
/// or two where that is too narrow.
void draw_head_controls(Frame& frame);

}  // namespace headlight::app
