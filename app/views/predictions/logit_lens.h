#pragma once

#include "app/engine/predictions.h"
#include "app/frame.h"

namespace headlight::app {

/// The prediction at one position as every layer would make it ("logit lens", nostalgebraist 2020): a row for each layer,
/// the last one at the top, with its likeliest tokens coloured by their probability. Fills what is left of the current
/// region.
void draw_logit_lens(Frame& frame, const PredictionPosition& position);

}  // namespace headlight::app
