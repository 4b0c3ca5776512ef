#pragma once

#include "app/frame.h"

namespace headlight::app {

/// The tooltip of a cell of the selected head's map, or of a mean: both tokens, weight, scores, why it is masked, the row's
/// largest weight and entropy, and what the key receives in all. Requests the exact rows that it reads.
void draw_map_tooltip(Frame& frame, attention::Cell cell, const view::Rect& box);

}  // namespace headlight::app
