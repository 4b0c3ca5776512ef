#pragma once

#include "export/figure.h"

namespace headlight::exporting {

/// Weights as lines between two columns of tokens, as a figure for a paper: queries left, keys right. A line has the colour
/// of its head (view/head_palette.h), mixed with the paper's by its weight, as if it were that opaque over paper alone. Of
/// differences of weights it has the colour of its sign.
struct LinesFigure {
  struct Line {
    std::uint32_t query = 0, key = 0, head = 0;
    float weight = 0.0F;  ///< 0 … 1; of a difference −1 … 1

    bool operator==(const Line&) const = default;
  };

  std::string title;
  std::string subtitle;  ///< long ones are wrapped
  std::string query_title = "query";
  std::string key_title = "key";
  std::vector<std::string> queries, keys;  ///< tokens; every line's are among them
  std::vector<Line> lines;                 ///< ascending by size: later ones are drawn over earlier ones
  std::vector<std::uint32_t> heads;        ///< of the legend
  bool is_difference = false;              ///< red where there is more, blue where there is less
  /// Of its parts labels are the tokens, the legend names the heads. Its map_edge is the figure's width; 0: as the tokens
  /// need.
  FigureStyle style = {};
  std::string session = {};  ///< metadata from which it can be made again; empty: none
};

/// The colour of a difference on light and dark ground: red for more, blue for less.
Rgb sign_color(float change);
/// How opaque a difference of weights is: 0 … 1. Its square root, since differences are mostly small.
float sign_opacity(float change);

/// Throws Error where a figure of lines has no room for so many tokens.
void check_lines(std::size_t queries, std::size_t keys);

/// Throws Error where a line's token doesn't exist or the figure would be too large.
std::unique_ptr<Drawing> make_drawing(LinesFigure figure);

}  // namespace headlight::exporting
