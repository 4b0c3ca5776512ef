#pragma once

#include "app/widgets/prompt_panel.h"

namespace headlight::app {

/// Draw an encoder–decoder's two texts: what the user types, and the target, which the model writes itself
/// (EngineResult::translated) until the user types there. `has_error`: the text can't be shown.
void draw_translator_source(Frame& frame, PromptPanelMemory& memory);
void draw_translator_target(Frame& frame, PromptPanelMemory& memory, bool has_error);

}  // namespace headlight::app
