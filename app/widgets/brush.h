#pragma once

#include "app/frame.h"
#include "app/state/mask_painting.h"

namespace headlight::app {

/// Does the pointer paint on the map? The brush is on, and the map is one head's: a mean has no mask of its own.
bool is_painting(const Frame& frame);

/// Returns the selected map, as painting needs it; nothing where no run has it.
PaintedMap painted_map(const EngineResult& result, const Selection& selection);

/// Draws the button that switches the brush on and off, at the cursor's position.
void draw_brush_toggle(Frame& frame);
/// Returns the toggle's width in UI units.
float brush_toggle_width(const Frame& frame);

/// Draws a hint of what the brush does and how to switch it off: one line, cut where it is wider than `room`.
void draw_brush_hint(Frame& frame, float room);

/// Draws the brush itself with its tip at the pointer, in the window being drawn.
void draw_brush(const Frame& frame, glm::vec2 tip);

}  // namespace headlight::app
