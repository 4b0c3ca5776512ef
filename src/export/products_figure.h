#pragma once

#include <cstddef>

#include "export/figure.h"

namespace headlight::exporting {

/// The products of one query with many keys, as a figure for a paper: a line for each key with the product of every
/// component on its colour, the score and the weight, which is a bar as well.
struct ProductsFigure {
  struct Row {
    std::string index, name;      ///< "3", "cat"
    std::vector<float> products;  ///< [component], in the order of `components`
    float score = 0.0F;           ///< as it enters the mask
    float weight = 0.0F;
    bool is_masked = false;
  };

  std::string title, subtitle;  ///< long ones are wrapped
  std::vector<std::string> components;
  std::vector<Row> rows;
  Rgb key_color{}, output_color{};  ///< of keys, and of weights
  FigureStyle style = {};           ///< of whose parts title and settings count; a map edge doesn't
  std::string session = {};         ///< metadata from which it can be made again; empty: none
};

/// Lines that a figure of products has at most. The view asks for so many rows of keys while it shows all keys, not for
/// more.
inline constexpr std::size_t kMostProductRows = 256;

/// Throws Error where there is no key or no component, a key's products don't fit the components, or there are too many.
std::unique_ptr<Drawing> make_drawing(ProductsFigure figure);

}  // namespace headlight::exporting
