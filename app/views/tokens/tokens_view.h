#pragma once

#include <memory>

#include "app/views/view.h"

namespace headlight::app {

/// The tokens of the selected line with their positions and ids.
std::unique_ptr<ViewPanel> open_tokens_view();

}  // namespace headlight::app
