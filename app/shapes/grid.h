#pragma once

// A grid as a value: numbers by row and column. Colours, CSV and its figure follow from it, and one layout of cells and
// names, which draws nothing and asks no font itself.

#include "app/shapes/table.h"
#include "chart/viewport.h"
#include "export/figures.h"

namespace headlight::app {

/// Numbers by row and column: layers and heads, tokens and layers, heads and heads.
struct Grid {
  std::string title = {};                                      ///< of the numbers, with their unit
  exporting::FigureAxis rows = {}, columns = {};               ///< of layers "layer" and their numbers
  std::vector<std::vector<std::optional<double>>> cells = {};  ///< [row][column]; none: not known; rows may differ in length
  /// [row][column] in place of the numbers; after a line end what the number is, which needs more room. Empty: no cell has
  /// one.
  std::vector<std::vector<std::string>> texts = {};
  std::optional<chart::ValueLimits> limits = {};  ///< of the colours; none: they reach as far as the numbers
  bool is_signed = true;                          ///< 0 is in the middle of the colours; else at their low end
  bool hides_missing = false;                     ///< numbers that aren't there are of cells that the mask hides: hatched
  bool has_log_colors = false;                    ///< colours and figures are of the numbers' sizes, logarithmic

  /// Returns the numbers at both ends of the colours, which are at least so far from 0.
  std::pair<double, double> ends(double least = 0.0) const;
  /// Returns a number's place between them, 0 … 1.
  double share(double number, const std::pair<double, double>& ends) const;
  /// Returns a column of the rows' names, and one for each column.
  Table table() const;
  /// Returns a figure for a paper; cells that aren't known are hatched.
  exporting::HeatmapFigure figure(chart::ColorMap color_map = chart::ColorMap::Viridis) const;
};

struct GridCell {
  std::size_t row = 0, column = 0;

  bool operator==(const GridCell&) const = default;
};

/// A rectangle of cells.
struct GridPart {
  std::size_t first_row = 0, end_row = 0, first_column = 0, end_column = 0;
};
/// Returns the part as a grid of its own.
Grid part_of(Grid grid, const GridPart& part);

/// Sizes of cells: of numbers as large as the width allows, all of them; low ones, whose rows are named by texts and scroll
/// below the columns' names; ones with a text, which scroll both ways.
enum class GridKind : std::uint8_t { Numbers, TextRows, Texts };

/// The parameters of a layout beside the grid.
struct GridLook {
  std::function<float(std::string_view)> width;  ///< of a name
  glm::vec2 room{0.0F};
  float line = 12.0F;  ///< height of a name
  GridKind kind = GridKind::Numbers;
};

struct GridName {
  glm::vec2 at{0.0F};  ///< its upper left corner, from that of the cells
  std::string text;
  std::size_t index = 0;  ///< of the row or column
};

/// The grid must outlive it.
class GridLayout {
 public:
  GridLayout(const Grid& grid, GridLook look);

  /// Returns the corner of the cells: names are before and above.
  glm::vec2 corner() const { return corner_; }
  glm::vec2 size() const { return pitch_ * glm::vec2(grid_.columns.tokens.size(), grid_.cells.size()); }
  /// Returns a cell's place, from the corner.
  chart::Rect cell(GridCell at) const;
  /// Returns the cells between two points.
  GridPart part(glm::vec2 from, glm::vec2 end) const;
  /// Returns the names of the part's rows or columns, as many as have room.
  std::vector<GridName> names(const GridPart& part, bool are_rows) const;

 private:
  const Grid& grid_;
  GridLook look_;
  glm::vec2 corner_{0.0F}, pitch_{0.0F};  ///< of cells, with the gap after each
};

}  // namespace headlight::app
