#pragma once

#include <string>

#include "app/frame.h"

namespace headlight::app {

/// In the middle of a region that has nothing to draw: a title, and why that is and what to do. `name` marks it for tests.
void draw_empty_note(Frame& frame, const std::string& name, const std::string& title, const std::string& text);

/// After a note: what is drawn next, buttons, begins where its text does.
void go_below_note();

}  // namespace headlight::app
