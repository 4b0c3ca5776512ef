#pragma once

#include "app/views/view.h"

namespace headlight::app {

/// Activation patching between the present run and the baseline: a map of layers and tokens, or of heads, and a list.
std::unique_ptr<ViewPanel> open_patching_view();

}  // namespace headlight::app
