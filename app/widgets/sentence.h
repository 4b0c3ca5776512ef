#pragma once

#include "app/frame.h"

namespace headlight::app {

/// As many digits of a weight as the pictures print.
inline constexpr const char* kWeightDigits = "{:.3f}";

/// Returns " (7)", the position of a token of which another one has the name; "" where its name is enough.
std::string position_among(const std::vector<std::string>* names, std::uint32_t token);
/// Return the word of a token of the queries' or of the keys' side, in the selected line, with its position where that is
/// needed. A query of the selected attention has its row_name().
std::string query_of(Frame& frame, model::BlockKind kind, std::uint32_t token);
std::string key_of(const Frame& frame, model::BlockKind kind, std::uint32_t token);

/// Returns "“rides” (row) looks mostly at “shirt” (column): 0.834." of a query's weights. `key`: the one that is pointed at;
/// none: the one with the largest weight. `has_axes`: rows and columns are on screen.
Sentence look_sentence(const std::string& query, std::span<const float> weights, std::optional<std::uint32_t> key,
                       const std::function<std::string(std::uint32_t)>& word_of, bool has_axes = true);

/// Says what the query looks at that is pointed at, else chosen, else the last; what changed since the baseline where maps
/// show that; and what the head does in this text. Of a number of another matrix what it is. Asks for nothing that the map's
/// tooltip and the badges don't.
struct SaidOfMap {
  bool has_axes = true;     ///< rows and columns are on screen
  bool names_head = false;  ///< the title doesn't say which head is selected
};
Sentence map_sentence(Frame& frame, const SaidOfMap& how = {});
/// Returns the cell of weights that it tells while nothing is pointed at or chosen: the last query, and the key that it
/// looks at most; none until the row is known.
std::optional<attention::Cell> told_cell(Frame& frame);

}  // namespace headlight::app
