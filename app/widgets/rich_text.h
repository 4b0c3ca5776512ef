#pragma once

#include "app/frame.h"

namespace headlight::app {

/// A paragraph with **bold** words and $formulas$ (math_text.h), broken at spaces and between Chinese, Japanese and Korean
/// characters, from the cursor on and as wide as the region. A sign without its partner is drawn as it is.
void draw_rich_text(Frame& frame, const std::string& text, ImFont* font, shell::Color color);

}  // namespace headlight::app
