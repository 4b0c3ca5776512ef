#pragma once

#include <cstdint>
#include <optional>

#include <glm/common.hpp>
#include <glm/vec2.hpp>
#include <glm/vector_relational.hpp>

namespace headlight::chart {

/// A rectangle whose y grows downwards; the unit is the caller's: UI units in the window, 1/96 inch in a figure.
struct Rect {
  glm::vec2 origin{0.0F};  ///< the top left corner
  glm::vec2 size{0.0F};    ///< width and height

  /// The bottom right corner.
  glm::vec2 end() const { return origin + size; }
  glm::vec2 center() const { return origin + size * 0.5F; }
  bool is_empty() const { return !glm::all(glm::greaterThan(size, glm::vec2(0.0F))); }
  /// Is the point inside? The left and the upper edge are, the right and the lower one aren't.
  bool contains(glm::vec2 point) const {
    return glm::all(glm::greaterThanEqual(point, origin)) && glm::all(glm::lessThan(point, end()));
  }

  bool operator==(const Rect&) const = default;
};

/// Returns the area that two rectangles share; of size 0 where they share nothing.
inline Rect intersection(const Rect& a, const Rect& b) {
  const glm::vec2 low = glm::max(a.origin, b.origin);
  return {low, glm::max(glm::vec2(0.0F), glm::min(a.end(), b.end()) - low)};
}

struct CellPosition {
  std::uint32_t row = 0, column = 0;

  auto operator<=>(const CellPosition&) const = default;
};

/// Part of a matrix, in cells, and the rectangle of cells that one value stands for: the region of a TileRequest.
struct Region {
  std::uint32_t row = 0, rows = 0, column = 0, columns = 0;
  std::uint32_t pool = 1;            ///< its rows …
  std::uint32_t pooled_columns = 0;  ///< … and its columns; 0: as many

  std::uint32_t column_pool() const { return pooled_columns > 0 ? pooled_columns : pool; }

  auto operator<=>(const Region&) const = default;
};

/// The placement of a matrix in a rectangle of the screen: zoomed, panned, clipped. A value; every change gives a new one,
/// clamped so that the matrix never leaves its rectangle. In vectors, x counts columns and y rows.
class Viewport {
 public:
  Viewport() = default;
  /// The whole matrix: square cells, centred; where squares would use less than a quarter of the longer free side (a column
  /// of 400 rows, 9 rows of 1,500 keys), cells become rectangles: of at most 4:1, or large enough on one side to be told
  /// apart apart and named. `zoom` ≥ 1 enlarges, of such rectangles first the short side, until they are squares; `pan` is
  /// how far, in cells, the point of the matrix at the rectangle's centre is from the matrix's own centre. Rows and columns
  /// before `first` aren't shown; all others keep their indices.
  Viewport(const Rect& area, std::uint32_t rows, std::uint32_t columns, float zoom = 1.0F, glm::vec2 pan = {},
           CellPosition first = {});
  /// Returns the same viewport at zoom 1, centred.
  Viewport fitted() const { return {area_, rows_, columns_, 1.0F, {}, first_}; }

  const Rect& area() const { return area_; }
  std::uint32_t rows() const { return rows_; }
  std::uint32_t columns() const { return columns_; }
  float zoom() const { return zoom_; }
  glm::vec2 pan() const { return pan_; }
  /// Width and height of a cell.
  glm::vec2 cell_size() const;

  /// Returns the rectangle of the matrix from its cell 0, 0 on, whether area() shows it or not; larger than area() when
  /// zoomed in.
  Rect matrix() const;
  /// Returns the matrix' part from `first` on.
  Rect shown() const;
  /// The visible part of shown().
  Rect visible() const;

  /// Cell under a visible point, or nullopt.
  std::optional<CellPosition> cell_at(glm::vec2 point) const;
  Rect rect_of(CellPosition cell) const;

  /// Zooms by a factor around a point, as far as clamping allows.
  Viewport zoomed_at(glm::vec2 point, float factor) const;
  /// Moves the matrix by pixels.
  Viewport moved(glm::vec2 distance) const;
  /// Shows the same part of the matrix in another rectangle, or of a matrix of another size.
  Viewport resized(const Rect& area, std::uint32_t rows, std::uint32_t columns) const;
  /// Moves just far enough that the cell is wholly visible.
  Viewport revealing(CellPosition cell) const;

  /// The largest useful zoom: cells of kMaxCell pixels.
  float max_zoom() const;
  static constexpr float kMaxCell = 160.0F;

  /// The region to evaluate to fill the visible part at its resolution. Each side is pooled by a power of two such that a
  /// value covers at least one of `pixels_per_unit`⁻¹ pixels and less than two; the region begins at multiples of it and
  /// covers partly visible cells, so panning asks for the same values again.
  Region visible_region(float pixels_per_unit = 1.0F) const;

 private:
  void clamp();
  glm::vec2 first() const { return {first_.column, first_.row}; }
  /// Columns and rows that are shown.
  glm::vec2 count() const { return glm::vec2(columns_, rows_) - first(); }

  Rect area_;
  std::uint32_t rows_ = 0, columns_ = 0;
  CellPosition first_;
  float zoom_ = 1.0F;
  glm::vec2 pan_{0.0F};       // cells
  glm::vec2 fit_cell_{0.0F};  // pixels at zoom 1
};

}  // namespace headlight::chart
