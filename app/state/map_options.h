#pragma once

#include "app/state/setting.h"

namespace headlight::app {

// Values that maps on screen and on paper have alike, each in the order of its enumerators.

/// Returns the options of chart::ColorMap without the diverging one, which stages of both signs always have.
inline std::vector<Option> color_map_options() {
  constexpr const char* kWeights = "Draws the weights in these colours.";
  return {{"viridis", "viridis", kWeights},
          {"magma", "magma", kWeights},
          {"cividis", "cividis", kWeights},
          {"greys", "greys", kWeights}};
}

/// Returns the options of chart::ScaleSpread.
inline std::vector<Option> spread_options() {
  return {{"linear", "linear", "Colours follow the weights."},
          {"sqrt", "root", "Colours follow the square roots of the weights, so that small ones can be told apart."},
          {"log", "log", "Colours follow the logarithms of the weights, so that very small ones can be told apart."}};
}

/// Returns the options of RowNames.
inline std::vector<Option> row_name_options() {
  return {
      {"written", "word written", "Rows are named by the word that the model writes there."},
      {"read", "word read", "Rows are named by the word that the model reads there, the one before the word it writes."}};
}

}  // namespace headlight::app
