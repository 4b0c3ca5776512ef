#pragma once

#include "app/frame.h"

namespace headlight::app {

/// What the selected head contributes: a factor before W_O that can be dragged, and a button that knocks the head out (0) or
/// brings it back (1). Stands at the right of the line being laid out.
void draw_gain_control(Frame& frame);
/// Its width in UI units.
float gain_control_width(const Frame& frame);

/// A mark in a thumbnail's corner for a head whose gain isn't 1; nothing for others.
void draw_gain_mark(Frame& frame, model::BlockRef block, std::uint32_t head, const shell::UiRect& box);

}  // namespace headlight::app
