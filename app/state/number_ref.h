#pragma once

#include <string>
#include <utility>

#include "attention/stage.h"
#include "model/config.h"

namespace headlight::app {

/// A number on screen, by what it is a number of: the question "where is this from?".
struct NumberRef {
  /// Id of a quantity ("weights"), or of other numbers that views show ("w_q", "logit"): app/cells/provenance.h lists them.
  std::string of = {};
  model::BlockRef block = {};
  std::uint32_t batch = 0;
  std::uint32_t head = 0;
  std::uint32_t row = 0, column = 0;  ///< of its matrix; of a logit the token's place and the id in the vocabulary
  std::uint32_t pool = 1;             ///< rows of the rectangle of cells that it covers, whose first cell is named
  std::uint32_t pooled_columns = 0;   ///< its columns; 0: as many as rows
  attention::Pooling pooling = attention::Pooling::Max;
  std::optional<double> value = {};  ///< as it is shown; none: the matrix knows it
  /// Names and texts of what only the view knows of it, such as the other head of a pair: the answer's first lines.
  std::vector<std::pair<std::string, std::string>> notes = {};

  bool operator==(const NumberRef&) const = default;
  std::uint32_t column_pool() const { return pooled_columns > 0 ? pooled_columns : pool; }
  bool is_exact() const { return pool == 1 && column_pool() == 1; }
};

}  // namespace headlight::app
