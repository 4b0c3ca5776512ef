#pragma once

#include "app/frame.h"
#include "app/window/layout.h"

namespace headlight::app {

/// Returns the widths of the tabs in one row and in two, with `insets` of the buttons beside them.
TabWidths measure_tabs(const shell::Ui& ui, float insets);

/// Draws the tabs of the main area, one for each view, in their groups; a tab whose view has nothing to draw of this run is
/// dimmed and says why. And a remark when what they show is older than what was asked for. Fills the whole current window,
/// and the tabs at most `width` of it; the buttons that fold the panels have room at either end.
void draw_tabs_panel(Frame& frame, TabRows rows, float width, float left_inset = 0.0F);

}  // namespace headlight::app
