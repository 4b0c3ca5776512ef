#pragma once

#include "app/frame.h"
#include "app/widgets/position_header.h"

namespace headlight::app {

/// What is patched, into which run, what is measured of which tokens, and the kind of attention.
void draw_patching_controls(Frame& frame, const ChosenLogit& logit);

}  // namespace headlight::app
