#pragma once

#include "app/frame.h"

namespace headlight::app {

/// The selected head's gain: a factor before W_O that can be dragged, and a button that knocks the head out (0) or restores
/// it (1). At the right of the current line.
void draw_gain_control(Frame& frame);
/// Its width in UI units.
float gain_control_width(const Frame& frame);

/// Marks in a thumbnail's corners for a head whose gain isn't 1 or whose pattern is replaced; nothing for others.
void draw_gain_mark(Frame& frame, model::BlockRef block, std::uint32_t head, const view::Rect& box);

}  // namespace headlight::app
