#pragma once

#include <imgui.h>

#include "app/frame.h"

namespace headlight::app {

/// Whether the pointer paints on the map: the brush is on, and the map is one head's. A mean has no mask of its own.
bool is_painting(const Frame& frame);

/// The button that takes up the brush and lays it down, at the place of the cursor.
void draw_brush_toggle(Frame& frame);
/// Its width in UI units.
float brush_toggle_width(const Frame& frame);

/// What the brush does and how to lay it down: one line, cut where it is wider than `room`.
void draw_brush_hint(Frame& frame, float room);

/// The brush itself with its tip at the pointer, in the window being drawn.
void draw_brush(const Frame& frame, ImVec2 tip);

}  // namespace headlight::app
