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
/// Draws the fields alone: of the recipe, and of one of its matrices.
void draw_preset_fields(Frame& frame, Form& form, PresetEditor& editor);

}  // namespace headlight::app
