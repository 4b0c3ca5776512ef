#pragma once

#include <string>

#include "app/engine/prediction_memory.h"
#include "app/frame.h"
#include "app/widgets/form.h"

namespace headlight::app {

/// What the panel shows of a text being continued.
struct GenerationStatus {
  bool is_running = false;
  std::uint32_t count = 0;  ///< tokens so far
  std::string outcome;      ///< why it ended; empty before
};

/// What somebody asked for that isn't a matter of the state.
struct PredictionChoice {
  bool starts_generation = false, stops_generation = false;
};

/// What the model expects at one place of the text: its distribution as bars, as the sampling settings shape it, with
/// outlines of the distribution before the last change; the selected head's gain; the logit lens; and how to go on. A click
/// on a candidate puts it into the text.
PredictionChoice draw_prediction_panel(Frame& frame, NumberBeingTyped& typed, PredictionMemory& memory,
                                       const GenerationStatus& generation);

}  // namespace headlight::app
