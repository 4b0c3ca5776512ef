#pragma once

#include <array>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "attention/mask.h"
#include "inference/notebook_edits.h"
#include "model/network.h"

namespace headlight::inference {

/// A notebook's computation with its exact numbers.
struct Notebook {
  std::shared_ptr<const model::Network> network;
  model::ModelInput input = {};
  attention::MaskSet masks = {};
};

/// A preset: its name in flags and files, what menus and run.json say of it, and what it is made from.
struct NotebookPreset {
  std::string_view name;     ///< "notebook-000"
  std::string_view title;    ///< one line for the menu
  std::string_view summary;  ///< what is special about it
  Notebook (*make)(const NotebookRecipe& recipe);
  NotebookRecipe recipe;   ///< with the notebook's own values
  std::string_view fixed;  ///< why its recipe has no other values, as a sentence; may be empty
};

/// "notebook-000", "notebook-000-class", …: in the order of the five notebooks.
std::span<const NotebookPreset> notebook_presets();
std::vector<std::string_view> notebook_names();
/// Throws Error naming the known presets.
const NotebookPreset& notebook_preset(std::string_view name);

/// The notebook, made by its own recipe with the user's values, then with the numbers the user typed. Throws Error in one
/// line: `name` isn't a preset (naming the known ones), its recipe has no such value, heads don't divide d_model, ….
Notebook make_notebook(std::string_view name, const NotebookEdits& edits = {});

/// Q, K and V as notebook 003 prints them, [kPrintedTokens, kPrintedWidth] each: it computes in double precision, the pass
/// in single.
inline constexpr std::uint32_t kPrintedTokens = 6, kPrintedWidth = 4;
std::array<std::span<const double>, 3> printed_qkv();

}  // namespace headlight::inference
