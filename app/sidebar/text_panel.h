#pragma once

#include "app/widgets/token_chips.h"

namespace headlight::app {

/// The panel's state from frame to frame: how the chips of each side are laid out.
struct TextPanelMemory {
  ChipLayout source, target;
};

/// Draws the text (or the notebook's tokens), its tokens as chips, and the second text of cross-attention. Pointing at a
/// chip lights its token, a click pins it. `error`: why the text can't be shown; empty when it can.
void draw_text_panel(Frame& frame, TextPanelMemory& memory, const std::string& error);

}  // namespace headlight::app
