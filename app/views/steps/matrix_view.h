#pragma once

#include "app/views/steps/matrix_plan.h"
#include "app/widgets/cells/cell_sources.h"
#include "app/widgets/cells/step_values.h"

namespace headlight::app {

/// The place to which the user has scrolled a matrix; nothing: the place where its plan shows it.
struct MatrixScroll {
  std::optional<std::uint32_t> row, column;
};

/// One matrix of the steps with its name, formula, shape, axes, row and column numbers, cells and colour bar.
struct MatrixView {
  MatrixPlan plan;
  std::string title;                                        ///< "queries"
  std::string formula;                                      ///< "Q = X W_Q + b_Q", as math_text sets it
  std::string shape;                                        ///< "ℝ^{n×d_k}: 8 × 3"
  std::string remark;                                       ///< "showing 64 of 512 columns"; may be empty
  std::string row_axis, column_axis;                        ///< "query", "d_k", as math_text sets them
  const std::vector<std::string>* row_tokens = nullptr;     ///< of the rows; may be null
  std::shared_ptr<const std::vector<std::string>> written;  ///< those, where a map's rows are named by what they write
  const std::vector<std::string>* column_tokens = nullptr;  ///< of a map's columns; may be null
  bool is_alone = false;                                    ///< the step's only matrix: its sentence has title and formula
  glm::vec2 origin{0.0F};                                   ///< of the whole view, UI units
  std::uint32_t head_width = 0;  ///< columns of one head, which have its colour above them; 0: of none

  float gutter = 24.0F;   ///< left of the cells, for the row labels
  float ticks = 16.0F;    ///< above the cells, for the column labels
  float overhang = 0.0F;  ///< right of the cells, for the last of them
  chart::Rect cells() const;
  /// Returns the query of a matrix that is a stage.
  TileQuery query(const Frame& frame) const;
  chart::Region window() const;
};

/// The marks in a matrix: the cell under the pointer, the sources of the hovered cell, a head's slice, and the row that is
/// written out.
struct MatrixMarks {
  std::optional<attention::Cell> hovered;  ///< row and column of this matrix
  std::span<const MatrixPart> sources;     ///< of all stages; only this one's are drawn
  std::span<const MatrixPart> slices;
  std::optional<std::uint32_t> row = {};
};

/// Returns the height of everything above a matrix' cells, and below them without scroll bar and remark.
float height_above(const MatrixView& view);
inline constexpr float kMatrixBar = 30.0F;  // gap, bar and its labels
/// Sets the room that the labels of rows and columns need, of columns at most `most`.
void make_room_for_labels(const Frame& frame, MatrixView& view, float most);

/// Returns width and height of the whole view.
glm::vec2 measure_matrix(const Frame& frame, const MatrixView& view);

/// Returns the cell under a point, in the matrix' own rows and columns.
std::optional<attention::Cell> matrix_cell_at(const MatrixView& view, glm::vec2 point);

/// Draws the matrix. `values` and `layer`: of matrices that are no stage.
void draw_matrix(Frame& frame, const MatrixView& view, const MatrixMarks& marks, StepValues& values,
                 const HeadSubject& subject);

/// Draws the scroll bars of a matrix that isn't shown as a whole; moving one changes `scroll`, and so does the wheel over
/// the cells (with Shift the columns) where `takes_wheel`. Returns whether the wheel is the matrix's now and not the page's.
bool handle_matrix_scroll(Frame& frame, const MatrixView& view, MatrixScroll& scroll, bool takes_wheel);

}  // namespace headlight::app
