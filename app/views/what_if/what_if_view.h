#pragma once

#include "app/views/view.h"

namespace headlight::app {

/// What knocking out each head changes: a map of layers and heads, and a list.
std::unique_ptr<ViewPanel> open_what_if_view();

}  // namespace headlight::app
