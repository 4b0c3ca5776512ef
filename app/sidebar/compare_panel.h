#pragma once

#include "app/widgets/form.h"

namespace headlight::app {

/// Draws what the present run is compared with, and the heads that changed most, each of which a click selects.
void draw_compare_panel(Frame& frame, NumberBeingTyped& typed);

}  // namespace headlight::app
