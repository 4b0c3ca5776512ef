#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headlight::app {

/// Cells of a map that were drawn: those of the queries from `first_query` on and the keys from `first_key` on.
struct DrawnPattern {
  std::uint32_t first_query = 0, first_key = 0;
  std::uint32_t queries = 0, keys = 0;
  std::vector<std::uint8_t> cells = {};  ///< [query, key], 1 where the pattern has the cell

  std::uint8_t& at(std::uint32_t row, std::uint32_t column) { return cells[std::size_t{row} * keys + column]; }
  std::uint8_t at(std::uint32_t row, std::uint32_t column) const { return cells[std::size_t{row} * keys + column]; }
};

/// A mask's expression (attention/expression.h) that is true in the pattern's cells and in no other cell of this region:
/// diagonals, columns and rows, the longest first. What reaches the end of the region goes on behind it. Empty where no
/// cell is drawn; nullopt where no expression is that long.
std::optional<std::string> formula_of(const DrawnPattern& pattern);

}  // namespace headlight::app
