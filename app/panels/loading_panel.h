#pragma once

#include <string>

#include "app/engine.h"
#include "panels/panel.h"

namespace headlight::app {

/// A model's weights on their way to the device: how far they are, and a button that gives up. Fills the whole current
/// window, where notices stand. Returns whether somebody gave up.
bool draw_loading_panel(Frame& frame, const std::string& name, const LoadProgress& progress);

}  // namespace headlight::app
