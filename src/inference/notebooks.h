#pragma once

#include "attention/mask.h"
#include "inference/notebook_edits.h"
#include "model/network.h"

namespace headlight::inference {

/// A notebook's computation with its exact numbers.
struct Notebook {
  std::string name;     ///< "notebook-000": the flag and the menu's key
  std::string title;    ///< one line for the menu
  std::string summary;  ///< what is special about it, for the window and run.json
  std::shared_ptr<const model::Network> network;
  model::ModelInput input;
  attention::MaskSet masks;
};

/// "notebook-000", "notebook-000-class", …: in the order of the five notebooks.
std::vector<std::string_view> notebook_names();

/// The notebook, made by its own recipe with the user's values, then with the numbers the user typed. Throws Error in one
/// line: `name` isn't a preset (naming the known ones), its recipe has no such value, heads don't divide d_model, ….
Notebook make_notebook(std::string_view name, const NotebookEdits& edits = {});

/// What the notebook is made from, with its own values. Throws Error like make_notebook().
const NotebookRecipe& notebook_recipe(std::string_view name);
/// Why its recipe has no other values, as a sentence; may be empty.
std::string_view notebook_fixed(std::string_view name);

}  // namespace headlight::inference
