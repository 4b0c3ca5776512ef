#pragma once

#include <string>

#include "app/frame.h"
#include "app/views/block/block_walk.h"

namespace headlight::app {

inline constexpr float kWalkControlsHeight = 34.0F;

/// Play, pause, one step on or back, the position, speed and "reduce motion", in one row from the cursor on. `step`: what
/// the walk shows just now: "softmax → attention weights".
void draw_walk_controls(Frame& frame, BlockWalk& walk, const std::string& step);

}  // namespace headlight::app
