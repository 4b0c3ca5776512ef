#pragma once

#include "app/frame.h"

namespace headlight::app {

/// Above the thumbnails: how many heads there are, which kind of attention (networks with several), which line of the batch,
/// and the order.
void draw_grid_header(Frame& frame);

}  // namespace headlight::app
