#pragma once

#include "app/widgets/form.h"

namespace headlight::app {

/// The shown capture: its file, what it holds, what is odd about its numbers, and the way back. `error`: why it can't be
/// shown; empty when it can. Returns whether "Open another" was clicked.
bool draw_capture_panel(Frame& frame, NumberBeingTyped& typed, const std::string& error);

}  // namespace headlight::app
