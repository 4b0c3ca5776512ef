#pragma once

#include <string>

#include "panels/panel.h"

namespace headlight::app {

/// What the window says once, under the menu bar, until somebody closes it.
struct Notice {
  std::string text;  ///< empty: nothing
  bool is_warning = false;

  bool is_shown() const { return !text.empty(); }
};

/// Draws it into the whole current child region; clears it when it is closed.
void draw_notice_panel(Frame& frame, Notice& notice);

/// In place of the map while there is no run to show: that it is coming, or why it can't come.
void draw_empty_panel(Frame& frame, bool is_computing);

}  // namespace headlight::app
