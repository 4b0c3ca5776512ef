#pragma once

#include "app/analyses/patch_effects.h"
#include "app/state/state.h"
#include "export/drawing.h"

namespace headlight::app {

/// What a figure shows of a map of patches.
struct PatchingFigure {
  const PatchEffects& effects;
  PatchingChoices choices;
  std::vector<std::string> labels;  ///< of the tokens; empty: heads by their numbers
  std::string title, subtitle;
};

/// Layers as columns and tokens as rows, or layers as rows and heads as columns. Throws Error where it is too large.
std::unique_ptr<exporting::Drawing> make_patching_figure(const PatchingFigure& shown);

}  // namespace headlight::app
