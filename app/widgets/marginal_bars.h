#pragma once

#include "app/frame.h"
#include "app/quantities/grouped_map.h"
#include "view/viewport.h"

namespace headlight::app {

/// Room that the bars need right of the map and below it.
inline constexpr float kMarginalRoom = 40.0F;

/// Bars beside the visible rows and below the visible columns of a map: how much a query gives to other tokens, from 0 to 1,
/// and the mean that a key receives, up to the largest of the map, with that number. Explains the bar under the pointer.
void draw_marginals(Frame& frame, const view::Viewport& viewport, const Marginals& marginals);

}  // namespace headlight::app
