#pragma once

#include "app/frame.h"

namespace headlight::app {

/// What to do before anything can be patched, with buttons that do it: no prediction, no baseline, the baseline is the
/// present one, or the two don't fit. Draws nothing and returns true where two runs are there.
bool draw_patching_start(Frame& frame);

}  // namespace headlight::app
