#pragma once

#include "app/widgets/head_map.h"
#include "export/drawing.h"
#include "view/color_map.h"

namespace headlight::app {

/// A head map's numbers, as a figure for a paper. Kept by a view from its last frame.
struct HeadMapFigure {
  std::string title, subtitle;
  std::string value_title;                             ///< at the colour bar
  std::vector<HeadMapLayer> layers;                    ///< kind of attention by kind
  bool is_signed = true;                               ///< else from 0 on, in the colours of weights
  view::ColorMap color_map = view::ColorMap::Viridis;  ///< then
};

/// Layers as rows, heads as columns, signed numbers with 0 in the middle of the colours; a map for each kind of attention
/// that is among the layers, with its name where there are several. Nullptr without layers.
std::unique_ptr<exporting::Drawing> make_head_map_figure(const HeadMapFigure& shown);

}  // namespace headlight::app
