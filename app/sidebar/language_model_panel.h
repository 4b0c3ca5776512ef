#pragma once

#include "app/widgets/form.h"

namespace headlight::app {

/// Draws the chosen model: what it is, how its weights and batches are kept, and the way back. `model`: null until its files
/// are open. `error`: why it can't be shown; empty when it can. `shows_details`: are its facts and rarely changed settings
/// unfolded? Returns whether "Open another" was clicked.
bool draw_language_model_panel(Frame& frame, NumberBeingTyped& typed, const inference::LanguageModel* model,
                               const std::string& error, bool& shows_details);

/// Returns the name of the model at a path: its own name, else the end of the path. `model` may be null or another one.
std::string model_name(const inference::LanguageModel* model, const std::string& path);

/// Draws the shown capture: its file, what it holds, what is odd about its numbers, and the way back. `error`: why it can't
/// be shown; empty when it can. Returns whether "Open another" was clicked.
bool draw_capture_panel(Frame& frame, NumberBeingTyped& typed, const std::string& error);

}  // namespace headlight::app
