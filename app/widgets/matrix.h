#pragma once

#include "app/frame.h"
#include "export/figure.h"

namespace headlight::app {

/// Numbers by row and column: layers and heads, tokens and layers, heads and heads.
struct Matrix {
  std::string title = {};                                      ///< of the numbers, with their unit
  exporting::FigureAxis rows = {}, columns = {};               ///< of layers "layer" and their numbers
  std::vector<std::vector<std::optional<double>>> cells = {};  ///< [row][column]; none: not known; rows may differ in length
  bool is_signed = true;                                       ///< 0 is in the middle of the colours; else at their low end
  bool hides_missing = false;   ///< numbers that aren't there are of cells that the mask hides: hatched
  bool has_log_colors = false;  ///< colours and figures are of the numbers' sizes, logarithmic

  /// Returns the finite number that is farthest from 0, at least `least`.
  double largest(double least = 0.0) const;
  /// Returns a line of the columns' names, and one for each row.
  std::string csv() const;
  /// Returns a figure for a paper; cells that aren't known are hatched.
  exporting::HeatmapFigure figure(chart::ColorMap color_map = chart::ColorMap::Viridis) const;
};

struct MatrixCell {
  std::size_t row = 0, column = 0;

  bool operator==(const MatrixCell&) const = default;
};

/// A matrix as a map of cells with their numbers, where they fit.
struct MatrixMap {
  const Matrix& matrix;
  std::function<std::string(MatrixCell)> name;   ///< that a cell is marked by
  std::function<std::string(MatrixCell)> about;  ///< the tooltip of a cell whose number is known
  std::optional<MatrixCell> selected = {};       ///< framed
  double least_end = 0.0;                        ///< the colours reach at least this far from 0
  /// Rows are low, named by texts, and scroll below the columns' names; else all are drawn, as high as cells are wide.
  bool has_text_rows = false;
  std::function<void(MatrixCell)> drag = {};  ///< called after each cell's item, which may be dragged; or empty
};

struct MatrixClick {
  std::optional<MatrixCell> cell;  ///< that was clicked in this frame
  bool is_double = false;
  std::optional<MatrixCell> hovered = {};  ///< under the pointer
};

/// Draws the matrix; numbers that aren't known have the colour of a missing tile.
MatrixClick draw_matrix(Frame& frame, const MatrixMap& map);
/// Returns the height that a matrix without rows of text takes in a region of this width.
float matrix_height(const Matrix& matrix, float width);

}  // namespace headlight::app
