#pragma once

#include "app/frame.h"
#include "export/drawing.h"
#include "view/color_map.h"

namespace headlight::app {

/// One row of a head map: a number for each head of a layer.
struct HeadMapLayer {
  model::BlockRef block;
  std::vector<std::optional<double>> values;  ///< [head]; none: not known yet
};

/// Numbers of heads, layer by layer.
struct HeadMap {
  std::string name;  ///< cells are marked "<name>.<layer>.<head>"
  std::span<const HeadMapLayer> layers;
  std::function<std::string(const HeadRef& head, double value)> about;  ///< a cell's tooltip
  bool is_signed = true;                                                ///< else from 0 on, in the colours of weights
  double least_end = 0.0;                                               ///< the colours reach at least this far from 0
  std::function<void(const HeadRef& head)> drag = {};  ///< called behind each cell's item, which may be dragged; or empty
};

struct HeadMapClick {
  std::optional<HeadRef> head;  ///< that was clicked in this frame
  bool is_double = false;
  std::optional<HeadRef> hovered = {};  ///< under the pointer
};

/// Layers as rows, heads as columns, with the numbers where they fit. Of signed numbers 0 is in the middle of the colours,
/// of others at one end, and the number that is farthest from it at an end; what isn't known has the colour of a missing
/// tile. The selected head is framed.
HeadMapClick draw_head_map(Frame& frame, const HeadMap& map);
/// Its height in UI units, of so many layers in a region of this width.
float head_map_height(std::size_t layers, std::size_t heads, float width);

/// A head map's numbers, as a figure for a paper. Kept by a view from its last frame.
struct HeadMapFigure {
  std::string title = {}, subtitle = {};
  std::string value_title = {};                        ///< at the colour bar
  std::vector<HeadMapLayer> layers = {};               ///< kind of attention by kind
  bool is_signed = true;                               ///< else from 0 on, in the colours of weights
  view::ColorMap color_map = view::ColorMap::Viridis;  ///< then
};

/// Layers as rows, heads as columns, signed numbers with 0 in the middle of the colours; a map for each kind of attention
/// that is among the layers, with its name where there are several. Nullptr without layers.
std::unique_ptr<exporting::Drawing> make_head_map_figure(const HeadMapFigure& shown);

}  // namespace headlight::app
