#pragma once

#include "app/frame.h"

namespace headlight::app {

/// Returns a cell of the selected head's map in words and numbers, one line each, for the clipboard: its tokens, weight and
/// scaled score. nullopt until the numbers are known; requests them.
std::optional<std::string> cell_text(Frame& frame, attention::Cell cell);

}  // namespace headlight::app
