#pragma once

#include "app/frame.h"
#include "app/widgets/form.h"

namespace headlight::app {

/// How to continue the text, and the button that does or stops it.
void draw_generation_controls(Frame& frame, NumberBeingTyped& typed);
/// The height they take.
float generation_controls_height(const Frame& frame);
/// Is the model writing on just now?
bool is_generating(const Frame& frame);

}  // namespace headlight::app
