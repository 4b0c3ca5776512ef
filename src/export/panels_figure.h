#pragma once

#include "export/figure.h"

namespace headlight::exporting {

/// Several whole figures of maps on one page, as they are: the steps of a head, two heads side by side. Each keeps its
/// labels, scale and colour bar; ground and letters are the page's.
struct PanelsFigure {
  std::string title, subtitle;  ///< long ones are wrapped
  std::vector<HeatmapFigure> panels;
  std::size_t across = 2;              ///< panels in a row, where `rows` is empty
  std::vector<std::size_t> rows = {};  ///< panels of each row, together all of them
  FigureStyle style = {};              ///< of the page
  std::string session = {};            ///< metadata from which it can be made again; empty: none
};

/// Throws Error where there is no panel, a panel's values don't fill it, or the page would be too large.
std::unique_ptr<Drawing> make_drawing(PanelsFigure figure);

}  // namespace headlight::exporting
