#pragma once

#include "panels/form.h"
#include "panels/panel.h"
#include "panels/prediction_panel.h"

namespace headlight::app {

/// How to continue the text, and the button that does or stops it.
PredictionChoice draw_generation_controls(Frame& frame, NumberBeingTyped& typed, const GenerationStatus& generation);
/// The height they take.
float generation_controls_height(const Frame& frame);

}  // namespace headlight::app
