#pragma once

#include "app/frame.h"

namespace headlight::app {

/// Draws the text that the run is compared with, of which there must be one, below the first: its box, and its tokens, of
/// which those that the first text doesn't have in their place are marked.
void draw_second_text(Frame& frame);

}  // namespace headlight::app
