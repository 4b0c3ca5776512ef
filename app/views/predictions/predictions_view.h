#pragma once

#include "app/views/view.h"

namespace headlight::app {

/// What the model expects at one position of the text: its distribution as bars, as the sampling settings shape it, with
/// outlines of the distribution before the last change; the selected head's gain; the logit lens; and how to go on. A click
/// on a candidate puts it into the text.
std::unique_ptr<ViewPanel> open_predictions_view();

}  // namespace headlight::app
