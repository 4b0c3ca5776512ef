#pragma once

#include <span>

#include "app/frame.h"

namespace headlight::app {

/// What is shown beside the pointer over a cell of the selected head's map: both tokens, weight, scores, why it is masked,
/// and the row's entropy. Wishes for the two exact rows it reads.
void draw_map_tooltip(Frame& frame, attention::Cell cell);

/// −Σ w ln w of a row's weights, in nats.
double entropy(std::span<const float> weights);

}  // namespace headlight::app
