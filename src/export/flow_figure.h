#pragma once

#include "export/figure.h"

namespace headlight::exporting {

/// A graph of tokens and layers, as a figure for a paper: what flows into one token's last state. Layers are rows, the input
/// at the bottom; tokens are columns.
struct FlowFigure {
  struct Edge {
    std::uint32_t layer = 0;                 ///< from the state before it to the state after it
    std::uint32_t from = 0, to = 0;          ///< columns
    float share = 0.0F;                      ///< 0 … 1: the line's width
    bool is_residual = false;                ///< the residual stream, which is grey; else attention
    std::optional<std::uint32_t> head = {};  ///< in whose colour it is drawn; none: a mean of heads, in the ink's
    float change = 0.0F;                     ///< of the share, where `reach` is given: the colour
  };

  std::string title;
  std::string subtitle;             ///< long ones are wrapped
  std::uint32_t layers = 0;         ///< rows above the input
  std::vector<std::string> tokens;  ///< [column]; every edge's are among them
  std::vector<Edge> edges;          ///< later ones are drawn over earlier ones
  /// Given: edges are coloured by their change instead, blue where it is less and red where it is more, strongest from here.
  std::optional<float> reach = {};
  /// Of its parts title and settings count, and its legend; a map edge doesn't.
  FigureStyle style = {};
  std::string session = {};  ///< metadata from which it can be made again; empty: none
};

/// With a legend of the heads, or of the changes, whose colours it has. Throws Error where an edge's layer or token doesn't
/// exist or the figure would be too large.
std::unique_ptr<Drawing> make_drawing(FlowFigure figure);

}  // namespace headlight::exporting
