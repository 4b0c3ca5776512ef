#include "app/views/steps/matrix_plan.h"

#include <algorithm>
#include <cmath>

#include "app/cells/stage_text.h"

namespace headlight::app {
namespace {

using attention::Stage;
using Other = StepMatrix::Other;

/// Texts of the matrices that are no stage, in the order of StepMatrix::Other.
struct Names {
  const char* title;
  const char* symbol;
  const char* name;
  const char* space;
};
constexpr Names kNames[] = {
    {.title = "memory", .symbol = "E", .name = "memory", .space = "ℝ^{n_k×d_{model}}"},
    {.title = "token vectors", .symbol = "T", .name = "token_vectors", .space = "ℝ^{n×d_{model}}"},
    {.title = "positions", .symbol = "P", .name = "positions", .space = "ℝ^{n×d_{model}}"},
    {.title = "token types", .symbol = "S", .name = "token_types", .space = "ℝ^{n×d_{model}}"},
    {.title = "sum", .symbol = "T + P", .name = "embedding_sum", .space = "ℝ^{n×d_{model}}"},
    {.title = "of all heads", .symbol = "Q", .name = "all_q", .space = "ℝ^{n×h·d_k}"},
    {.title = "of all heads", .symbol = "K", .name = "all_k", .space = "ℝ^{n×h_{kv}·d_k}"},
    {.title = "of all heads", .symbol = "V", .name = "all_v", .space = "ℝ^{n×h_{kv}·d_v}"},
    {.title = "of all heads", .symbol = "H", .name = "all_heads", .space = "ℝ^{n×h·d_v}"},
    {.title = "query weights", .symbol = "W_Q", .name = "w_q", .space = "ℝ^{d_{model}×d_k}"},
    {.title = "key weights", .symbol = "W_K", .name = "w_k", .space = "ℝ^{d_{model}×d_k}"},
    {.title = "value weights", .symbol = "W_V", .name = "w_v", .space = "ℝ^{d_{model}×d_v}"},
    {.title = "output weights", .symbol = "W_O", .name = "w_o", .space = "ℝ^{h·d_v×d_{model}}"},
    {.title = "gate weights", .symbol = "W_G", .name = "w_gate", .space = "ℝ^{d_{model}×d_{ff}}"},
    {.title = "feed-forward weights", .symbol = "W_1", .name = "w_1", .space = "ℝ^{d_{model}×d_{ff}}"},
    {.title = "feed-forward weights", .symbol = "W_2", .name = "w_2", .space = "ℝ^{d_{ff}×d_{model}}"}};

const Names& names_of(StepMatrix matrix) { return kNames[static_cast<std::size_t>(matrix.other())]; }

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

const char* step_title(StepMatrix matrix) {
  return matrix.is_stage() ? quantity(matrix.stage()).title.c_str() : names_of(matrix).title;
}

const char* step_symbol(StepMatrix matrix) {
  return matrix.is_stage() ? quantity(matrix.stage()).symbol.c_str() : names_of(matrix).symbol;
}

std::string step_name(StepMatrix matrix) {
  return matrix.is_stage() ? std::string(attention::to_string(matrix.stage())) : names_of(matrix).name;
}

shell::Color step_color(StepMatrix matrix, const shell::Theme& theme) {
  if (matrix.is_stage()) return role_color(quantity(matrix.stage()).role, theme);
  if (matrix == Other::QueryWeight) return theme.query;
  if (matrix == Other::KeyWeight) return theme.key;
  if (matrix == Other::ValueWeight) return theme.value;
  if (matrix == Other::AllQueries) return theme.query;
  if (matrix == Other::AllKeys) return theme.key;
  if (matrix == Other::AllValues) return theme.value;
  return matrix.is_weight() || matrix == Other::AllHeads ? theme.output : theme.text;
}

std::string step_space(StepMatrix matrix, const BlockGeometry& geometry) {
  if (!matrix.is_stage()) return names_of(matrix).space;
  const model::BlockKind kind = geometry.is_self ? model::BlockKind::EncoderSelf : model::BlockKind::Cross;
  return space_of(quantity(matrix.stage()), geometry.shape, kind);
}

const char* step_rows(StepMatrix matrix, const BlockGeometry& geometry) {
  if (matrix == Other::OutputWeight) return "h·d_v";
  if (matrix == Other::FfnWeight) return "d_{ff}";
  if (matrix.is_weight()) return "d_{model}";
  if (matrix.has_key_rows()) return geometry.is_self ? "token" : "key";
  return matrix.is_map() || !geometry.is_self ? "query" : "token";
}

const char* step_columns(StepMatrix matrix) {
  if (matrix.is_map()) return "key";
  if (matrix.is_stage()) return quantity(matrix.stage()).width.c_str();
  if (matrix == Other::AllQueries || matrix == Other::AllKeys) return "h·d_k";
  if (matrix == Other::AllValues || matrix == Other::AllHeads) return "h·d_v";
  if (matrix == Other::QueryWeight || matrix == Other::KeyWeight) return "d_k";
  if (matrix == Other::GateWeight || matrix == Other::HiddenWeight) return "d_{ff}";
  return matrix == Other::ValueWeight ? "d_v" : "d_{model}";
}

}  // namespace headlight::app
