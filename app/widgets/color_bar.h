#pragma once

#include "app/frame.h"
#include "app/shell/heatmap_renderer.h"

namespace headlight::app {

/// A flat colour bar with its range's ends, and zero where the range has both signs; labels are below `bar`. The colours
/// and the range are the image's, so that bar and cells agree.
void draw_small_color_bar(const Frame& frame, const view::Rect& bar, const shell::HeatmapImage& image);

/// An upright colour bar from `axis.low` to `axis.high`, largest value on top, with round ticks at its right and a caption
/// above. The colours are the image's, whose range may differ while the user changes it.
void draw_color_bar(const Frame& frame, const view::Rect& bar, const shell::HeatmapImage& image,
                    const view::ValueLimits& axis, const char* caption);

}  // namespace headlight::app
