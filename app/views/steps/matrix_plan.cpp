#include "app/views/steps/matrix_plan.h"

#include <algorithm>
#include <cmath>

namespace headlight::app {
namespace {

constexpr std::uint32_t kMostRowsWithNumbers = 24;
constexpr float kLeastCell = 4.0F;

/// Edge of a coloured cell, so that all `count` fill `room` if they can.
float heat_cell(std::uint32_t count, float room, float most) {
  return std::clamp(std::floor(room / static_cast<float>(std::max(count, 1U))), kLeastCell, most);
}

/// First of `shown` among `count` cells, with `in_view` in their middle.
std::uint32_t first_shown(std::uint32_t count, std::uint32_t shown, std::optional<std::uint32_t> in_view) {
  if (!in_view || *in_view < shown / 2) return 0;
  return std::min(*in_view - shown / 2, count - shown);
}

}  // namespace

MatrixPlan plan_matrix(StepMatrix stage, std::uint32_t rows, std::uint32_t columns, const PlanLimits& limits) {
  MatrixPlan plan{.stage = stage, .rows = rows, .columns = columns};
  const bool has_low_rows = rows <= kMostRowsWithNumbers;
  plan.has_numbers =
      limits.wants_numbers && has_low_rows && static_cast<float>(columns) * limits.number_width <= limits.max_width;
  // Rows are as high as those of a neighbour with numbers, so that tokens stand on one line through a whole row of matrices.
  plan.cell.y = has_low_rows ? limits.number_height : heat_cell(rows, limits.heat_edge, limits.number_height);
  plan.cell.x = plan.has_numbers ? limits.number_width : heat_cell(columns, limits.heat_width, limits.heat_cell);
  const float row_room = has_low_rows ? plan.cell.y * static_cast<float>(rows) : limits.heat_edge;
  const float column_room = plan.has_numbers ? limits.max_width : limits.heat_edge;
  plan.shown_rows = std::min(rows, static_cast<std::uint32_t>(row_room / plan.cell.y));
  plan.shown_columns = std::min(columns, static_cast<std::uint32_t>(column_room / plan.cell.x));
  plan.first_row = first_shown(rows, plan.shown_rows, limits.row_in_view);
  plan.first_column = first_shown(columns, plan.shown_columns, limits.column_in_view);
  if (limits.first_row) plan.first_row = std::min(*limits.first_row, rows - plan.shown_rows);
  if (limits.first_column) plan.first_column = std::min(*limits.first_column, columns - plan.shown_columns);
  return plan;
}

}  // namespace headlight::app
