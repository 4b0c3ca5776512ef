#pragma once

#include "export/figure.h"

namespace headlight::exporting {

/// One score taken apart, as a figure for a paper: a line for each component with the numbers of the query and the key on
/// their colours and their product as a signed bar; beside it how their sum becomes a weight, line by line.
struct ScoreFigure {
  struct Vector {
    std::string title;          ///< "q", "k before RoPE": over its column
    Rgb color{};                ///< of the title
    std::vector<float> values;  ///< [component], in the order of `components`
  };
  struct Line {
    std::string name;                    ///< "scale"
    std::string value;                   ///< "0.418"; empty: none
    std::string calculation, note = {};  ///< long ones are wrapped
    bool is_result = false;              ///< in the colour of outputs
  };

  std::string title, subtitle;  ///< long ones are wrapped
  std::vector<std::string> components;
  std::vector<Vector> vectors;  ///< with as many values as there are components
  std::vector<double> products;
  std::string product_title;
  std::vector<Line> lines;
  Rgb output_color{};        ///< of products and results
  FigureStyle style = {};    ///< of whose parts title and settings count; a map edge doesn't
  std::string session = {};  ///< metadata from which it can be made again; empty: none
};

/// Throws Error where there is no component, numbers are missing, or the figure would be too large.
std::unique_ptr<Drawing> make_drawing(ScoreFigure figure);

}  // namespace headlight::exporting
