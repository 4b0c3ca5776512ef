#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/widgets/head_map.h"
#include "export/drawing.h"

namespace headlight::app {

/// A head map's numbers, as a figure for a paper. Kept by a view from its last frame.
struct HeadMapFigure {
  std::string title, subtitle;
  std::string value_title;  ///< at the colour bar
  std::vector<HeadMapLayer> layers;
  bool is_dark = true;
};

/// Layers as rows, heads as columns, signed numbers with 0 in the middle of the colours; nullptr without layers.
std::unique_ptr<exporting::Drawing> make_head_map_figure(const HeadMapFigure& shown);

}  // namespace headlight::app
