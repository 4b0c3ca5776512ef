#pragma once

#include "app/widgets/form.h"
#include "inference/notebooks.h"

namespace headlight::app {

/// The fields in which a notebook is changed, from frame to frame.
struct PresetEditor {
  bool is_open = false;
  std::string matrix = {};                          ///< name of the one whose numbers are in `text`
  std::string text = {};                            ///< as typed; may not be a matrix
  std::string error = {};                           ///< why it isn't taken; empty: it is
  inference::NotebookEdits shown = {};              ///< the changes that `text` was made from, or made
  std::string name = {};                            ///< of `own`'s notebook
  inference::NotebookRecipe recipe = {};            ///< the changes of the recipe that `own` is made with
  std::vector<inference::NotebookMatrix> own = {};  ///< the recipe's matrices; empty: it can't be made
};

/// Draws what was changed of the shown notebook and the way back, both only where something was; the fields of its recipe;
/// and one of its matrices as text, which is applied while it is typed.
void draw_preset_editor(Frame& frame, Form& form, PresetEditor& editor);

/// A notebook as the window names it.
struct PresetInfo {
  std::string name, title, summary;
};

/// Draws the playground's sizes and switches, or, while a notebook is shown, what it is, with its sizes and the fields that
/// change it.
/// `error`: why the model can't be built; empty when it can. `preset`: of the notebook on screen; nullptr without one.
/// `shows_details`: are sizes and rarely changed settings unfolded? Returns whether the user wants to open a model.
bool draw_model_panel(Frame& frame, NumberBeingTyped& typed, const PresetInfo* preset, const std::string& error,
                      bool& shows_details, PresetEditor& editor);

}  // namespace headlight::app
