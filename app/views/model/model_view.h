#pragma once

#include "app/views/view.h"

namespace headlight::app {

/// Every head of every layer as a thumbnail large enough to read, in the order and through the filter of any metric, above a
/// film strip.
std::unique_ptr<ViewPanel> open_model_view();

}  // namespace headlight::app
