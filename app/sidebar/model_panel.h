#pragma once

#include "app/sidebar/preset_editor.h"
#include "app/widgets/form.h"

namespace headlight::app {

/// A notebook as the window names it.
struct PresetInfo {
  std::string name, title, summary;
};

/// The playground's sizes and switches, or, while a notebook is shown, what it is, with its sizes and the fields that
/// change it.
/// `error`: why the model can't be built; empty when it can. `preset`: of the notebook on screen; nullptr without one.
/// `shows_details`: are sizes and rarely changed settings unfolded? Returns whether the user wants to open a model.
bool draw_model_panel(Frame& frame, NumberBeingTyped& typed, const PresetInfo* preset, const std::string& error,
                      bool& shows_details, PresetEditor& editor);

}  // namespace headlight::app
