#pragma once

#include "app/analyses/logit_attribution.h"
#include "app/frame.h"

namespace headlight::app {

/// Every head's part of the logit as a map, layers downwards and heads to the right, with the colours of signed numbers. A
/// click selects the head and shows its source tokens, a double click opens its map.
void draw_head_effects(Frame& frame, const LogitAttribution& found);

}  // namespace headlight::app
