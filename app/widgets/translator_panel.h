#pragma once

#include "app/widgets/prompt_panel.h"

namespace headlight::app {

/// Draws an encoder–decoder's two texts side by side, drawn into the whole current pane: at the left what the user types, at
/// the right the target, which the model writes itself (EngineResult::translated) until the user types there. Below each its
/// tokens. `has_error`: the text can't be shown. Returns the height that it wants, in UI units.
float draw_translator_panel(Frame& frame, PromptPanelMemory& memory, bool has_error);

}  // namespace headlight::app
