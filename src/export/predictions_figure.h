#pragma once

#include "export/figure.h"

namespace headlight::exporting {

/// What a model predicts at one position, as a figure for a paper: the likeliest tokens as bars over an axis from 0 to 100
/// %, and below them what each layer would predict (logit lens), coloured by probability.
struct PredictionsFigure {
  struct Bar {
    std::string token;
    double share = 0.0;   ///< 0 … 1
    bool is_cut = false;  ///< by top-k or top-p: it is never drawn, and its bar is grey
  };
  struct Reading {
    std::string token;
    double probability = 0.0;  ///< 0 … 1
  };
  struct Layer {
    std::string name;               ///< "layer 3"
    std::vector<Reading> readings;  ///< likeliest first; every layer has as many cells as the one with the most
  };

  std::string title, subtitle;  ///< long ones are wrapped
  std::vector<Bar> bars;        ///< likeliest first
  double rest = 0.0;            ///< of all tokens without a bar, 0 … 1
  std::vector<Layer> layers;    ///< top to bottom; may be empty
  /// Of its parts labels are the tokens, numbers the percentages; its map_edge is the figure's width, its color_map that of
  /// the table.
  FigureStyle style = {};
  std::string session = {};  ///< metadata from which it can be made again; empty: none
};

/// Throws Error where there is no bar, or the figure would be too large.
std::unique_ptr<Drawing> make_drawing(PredictionsFigure figure);

}  // namespace headlight::exporting
