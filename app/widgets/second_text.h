#pragma once

#include "app/frame.h"

namespace headlight::app {

/// Draws the text that the run is compared with, below the first one: its box, and its tokens, of which those that the first
/// text doesn't have in their place are marked. While there is none, a button that opens it.
void draw_second_text(Frame& frame);

}  // namespace headlight::app
