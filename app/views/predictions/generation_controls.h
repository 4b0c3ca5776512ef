#pragma once

#include "app/frame.h"
#include "app/views/predictions/predictions_view.h"
#include "app/widgets/form.h"

namespace headlight::app {

/// How to continue the text, and the button that does or stops it.
PredictionChoice draw_generation_controls(Frame& frame, NumberBeingTyped& typed, const GenerationStatus& generation);
/// The height they take.
float generation_controls_height(const Frame& frame);

}  // namespace headlight::app
