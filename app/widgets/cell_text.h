#pragma once

#include <optional>
#include <string>

#include "app/frame.h"
#include "attention/mask.h"

namespace headlight::app {

/// A cell of the selected head's map in words and numbers, one line each, for the clipboard: its tokens, weight and scaled
/// score. Nothing until the numbers are there; asks for them.
std::optional<std::string> cell_text(Frame& frame, attention::Cell cell);

}  // namespace headlight::app
