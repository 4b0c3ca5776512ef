#pragma once

#include <string>

#include "panels/form.h"
#include "panels/panel.h"

namespace headlight::app {

/// The model on screen: what it is, how its weights and batches are kept, and the way back. `error`: why it can't be shown;
/// empty when it can. Returns whether somebody wants to open another one.
bool draw_language_model_panel(Frame& frame, NumberBeingTyped& typed, const std::string& error);

/// How a model is called: its own name, else the end of its path.
std::string model_name(const EngineResult& result, const std::string& path);

}  // namespace headlight::app
