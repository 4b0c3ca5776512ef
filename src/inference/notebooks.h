#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attention/mask.h"
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

/// Throws Error naming the known presets when `name` isn't one.
Notebook make_notebook(std::string_view name);

}  // namespace headlight::inference
