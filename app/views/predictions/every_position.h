#pragma once

#include "app/frame.h"

namespace headlight::app {

/// What is predicted at every position of the text: a row each with its token, the likeliest tokens there, and the chance of
/// the token that follows. Asks for the rows in view. Returns the position that was clicked.
std::optional<std::uint32_t> draw_every_position(Frame& frame, const PredictionPosition& position);

}  // namespace headlight::app
