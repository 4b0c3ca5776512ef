#pragma once

#include "core/error.h"
#include "inference/notebook_numbers.h"

namespace headlight::inference {

/// Numbers by axes with a letter each: b batch, h head, t token, d number of a head's vector, q query, k key, c number of a
/// token's vector, i input of a weight, m and n others.
struct Lettered {
  std::string letters;
  Shape shape;
  std::vector<double> values = {};  ///< empty where shapes alone are asked for

  std::size_t size(char letter) const {
    const std::size_t at = letters.find(letter);
    if (at == std::string::npos) throw Error("there is no axis '{}'", letter);
    return shape[at];
  }
  double at(const std::vector<std::size_t>& indices) const {
    std::size_t place = 0, axis = 0;
    for (const std::size_t index : indices) place = place * shape[axis++] + index;
    return values.at(place);
  }
};

/// Makes all numbers of a part, in no order of its own. Throws Error in one line where the pass has none.
Lettered make_numbers(const NotebookPass& pass, const NotebookPart& part);

}  // namespace headlight::inference
