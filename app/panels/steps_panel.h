#pragma once

#include "panels/panel.h"

namespace headlight::app {

/// The selected head's whole calculation, X → Q, K, V → scores → scaled → masked → weights → head → merged → output, every
/// number of which is a tile of the run; the cell under the pointer with its sources marked and its arithmetic written out.
/// Draws into the whole current child region.
void draw_steps_panel(Frame& frame);

}  // namespace headlight::app
