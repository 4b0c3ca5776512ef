#pragma once

#include <string>

#include "app/frame.h"

namespace headlight::app {

inline constexpr float kMotionSpeedWidth = 72.0F;
inline constexpr const char* kNewRowSpeed = "How fast the row of a generated token comes into the map of the view Head.";

/// A list of speeds of what is shown step by step: Block's walk, and the row of a generated token. `explanation`: its
/// tooltip. `has_still`: it can be switched off here as well.
void choose_motion_speed(Frame& frame, const std::string& name, const char* explanation, bool has_still);

}  // namespace headlight::app
