#pragma once

#include "app/views/view.h"

namespace headlight::app {

/// What every head does with the text, as a table: a line a head, a column a metric.
std::unique_ptr<ViewPanel> open_heads_view();

}  // namespace headlight::app
