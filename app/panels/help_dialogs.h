#pragma once

#include "panels/panel.h"

namespace headlight::app {

/// The list of all shortcuts (F1). Clears `is_open` when it is closed.
void draw_shortcuts_dialog(Frame& frame, bool& is_open);

/// Name, version, what it is built on. `renderer`: the device that draws the window.
void draw_about_dialog(Frame& frame, bool& is_open, const std::string& renderer);

}  // namespace headlight::app
