#pragma once

#include "app/frame.h"

namespace headlight::app {

/// Above the map: which head it is, how the map is computed, and the choice of its stage.
void draw_head_header(Frame& frame);

}  // namespace headlight::app
