#pragma once

#include "app/frame.h"
#include "attention/mask.h"

namespace headlight::app {

/// A column of tokens beside the lines: the queries or the keys of the selected line of the batch.
struct LineSide {
  std::vector<std::string> labels;      ///< [token]; the token's index where its text isn't known
  attention::KeyRange real = 0;         ///< that aren't padding
  std::vector<std::uint8_t> sentences;  ///< [token] as LineFilter::query_sentences; empty without a pair
  const char* name = "";                ///< "query", "writes", "key"
  float width = 0.0F;                   ///< of the widest label in the font of labels, UI units
};

struct LineSides {
  LineSide queries, keys;
};

/// Both sides of the selected map. Asks for the prediction that names the last row of a target.
LineSides line_sides(Frame& frame);

}  // namespace headlight::app
