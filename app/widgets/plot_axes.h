#pragma once

#include "app/frame.h"
#include "chart/plot_axis.h"

namespace headlight::app {

/// Draws a plot's frame, and lines across it with labels at its ticks.
void draw_plot_axes(const Frame& frame, const chart::Rect& area, const chart::PlotTicks& x, const chart::PlotTicks& y);

}  // namespace headlight::app
