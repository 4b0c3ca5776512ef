#pragma once

#include <span>

#include "attention/stage.h"

namespace headlight::exporting {

/// One matrix of a figure, pooled or with a value for each cell.
struct FigureMap {
  std::uint32_t rows = 0;            ///< cells of the matrix
  std::uint32_t columns = 0;         ///< cells of the matrix
  std::uint32_t pool = 1;            ///< rows of the rectangle of cells that one value stands for
  std::uint32_t pooled_columns = 0;  ///< its columns; 0: as many as rows
  bool pools_by_maximum = true;      ///< true for weights, to keep peaks; false: the mean of unmasked cells
  float largest = 0.0F;              ///< where colours to the largest value end; 0: at the largest of `values`
  std::vector<float> values;         ///< [value_rows, value_columns]
  std::vector<std::uint8_t> masked;  ///< as values, 1: all cells of the value are masked; or empty

  std::uint32_t value_rows() const { return (rows + pool - 1) / pool; }
  std::uint32_t column_pool() const { return pooled_columns > 0 ? pooled_columns : pool; }
  bool is_exact() const { return pool == 1 && column_pool() == 1; }
  std::uint32_t value_columns() const { return (columns + column_pool() - 1) / column_pool(); }
  float at(std::uint32_t row, std::uint32_t column) const { return values[std::size_t{row} * value_columns() + column]; }
  bool is_masked(std::uint32_t row, std::uint32_t column) const {
    return !masked.empty() && masked[std::size_t{row} * value_columns() + column] != 0;
  }
  std::span<const float> row(std::uint32_t index) const {
    return std::span(values).subspan(std::size_t{index} * value_columns(), value_columns());
  }

  /// A masked cell without a value: zero weight, −inf or a fill. It shows stripes on the blank colour; a masked cell with a
  /// value (a uniform row, a score before the mask) shows them on its colour.
  bool is_blank(std::uint32_t row, std::uint32_t column) const;
  /// Is every cell of the row masked and without weight (−inf in every cell before softmax)?
  bool is_without_weights(std::uint32_t row) const;
};

FigureMap make_map(const attention::Tile& tile);

/// The map with at most `max_edge` values on each side, each of which is pooled as far as it needs; itself when it is small
/// enough.
FigureMap pooled(const FigureMap& map, std::uint32_t max_edge);

/// Throws Error naming expected and found sizes when values or masked don't fill the map or it is empty.
void check(const FigureMap& map);

}  // namespace headlight::exporting
