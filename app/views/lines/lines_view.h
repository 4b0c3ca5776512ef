#pragma once

#include "app/views/view.h"

namespace headlight::app {

/// The heads of a layer as lines between two columns of tokens.
std::unique_ptr<ViewPanel> open_lines_view();

}  // namespace headlight::app
