#pragma once

#include "app/frame.h"
#include "view/viewport.h"

namespace headlight::app {

/// Marks on the cells of the big heatmap that have a painted bias (+ or −) or a painted weight (a frame), and lines where
/// documents begin.
void draw_paint_marks(const Frame& frame, const view::Viewport& viewport);

}  // namespace headlight::app
