#pragma once

#include "app/views/view.h"

namespace headlight::app {

/// The tokens as running text, shaded by what one of them attends to, or by what attends to it.
std::unique_ptr<ViewPanel> open_text_view();

}  // namespace headlight::app
