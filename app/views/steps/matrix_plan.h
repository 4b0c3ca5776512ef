#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <glm/vec2.hpp>

#include "app/shell/theme.h"
#include "app/widgets/cells/cell_sources.h"
#include "app/widgets/cells/step_matrix.h"

namespace headlight::app {

/// The layout of one matrix of the steps: which of its cells are shown, how large, and with numbers or as colours alone.
struct MatrixPlan {
  StepMatrix stage = attention::Stage::X;
  std::uint32_t rows = 0, columns = 0;  ///< of the whole matrix
  std::uint32_t first_row = 0, shown_rows = 0;
  std::uint32_t first_column = 0, shown_columns = 0;
  glm::vec2 cell{0.0F};  ///< its width and height, UI units
  bool has_numbers = false;

  glm::vec2 size() const { return cell * glm::vec2(shown_columns, shown_rows); }
  bool is_shortened() const { return shown_rows < rows || shown_columns < columns; }
  bool shows(std::uint32_t row, std::uint32_t column) const {
    return row >= first_row && row < first_row + shown_rows && column >= first_column &&
           column < first_column + shown_columns;
  }
};

/// The limits that a plan must respect.
struct PlanLimits {
  glm::vec2 number{44.0F, 20.0F};  ///< a cell that holds a number
  glm::vec2 room{640.0F, 360.0F};  ///< of the cells
  bool wants_numbers = true;
  std::optional<std::uint32_t> row_in_view, column_in_view;  ///< to be among the shown ones of a shortened matrix
  std::optional<std::uint32_t> first_row, first_column;      ///< where the user has scrolled it to, which counts more
};

/// Plans numbers where all of them fit; else coloured cells of at least four units, as many as fit, which are squares in a
/// map.
MatrixPlan plan_matrix(StepMatrix stage, std::uint32_t rows, std::uint32_t columns, const PlanLimits& limits);

/// Returns the name of a matrix of the steps: "queries", "query weights", "memory".
const char* step_title(StepMatrix matrix);
/// Returns the matrix' letter in formulas, as math_text sets it: "Q", "W_Q", "E".
const char* step_symbol(StepMatrix matrix);
/// Returns the matrix' name in files, flags and tests: "q", "w_q", "memory".
std::string step_name(StepMatrix matrix);
/// Returns the colour of the matrix' role.
shell::Color step_color(StepMatrix matrix, const shell::Theme& theme);
/// Returns the matrix' space in the field's letters: "ℝ^{n×d_k}".
std::string step_space(StepMatrix matrix, const BlockGeometry& geometry);
/// Returns the names of the matrix' rows and columns: "query" and "d_k", as math_text sets them.
const char* step_rows(StepMatrix matrix, const BlockGeometry& geometry);
const char* step_columns(StepMatrix matrix);

}  // namespace headlight::app
