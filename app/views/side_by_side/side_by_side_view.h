#pragma once

#include "app/views/view.h"

namespace headlight::app {

/// Two maps of weights with one pointer, one zoom and one colour scale: the selected head, and beside it another head or the
/// same one in the baseline.
std::unique_ptr<ViewPanel> open_side_by_side_view();

}  // namespace headlight::app
