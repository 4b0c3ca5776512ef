#include "app/views/steps/matrix_plan.h"

#include "app/widgets/cells/stage_text.h"

namespace headlight::app {
namespace {

/// Texts and roles of the matrices that are no stage, in the order of StepMatrix::Other.
struct Names {
  const char *title, *symbol, *name, *space;
  const char *rows, *columns;  ///< what they are; "": rows are tokens
  Role role;
};
constexpr Names kNames[] = {
    {"memory", "E", "memory", "ℝ^{n_k×d_{model}}", "", "d_{model}", Role::Input},
    {"token vectors", "T", "token_vectors", "ℝ^{n×d_{model}}", "", "d_{model}", Role::Input},
    {"positions", "P", "positions", "ℝ^{n×d_{model}}", "", "d_{model}", Role::Input},
    {"token types", "S", "token_types", "ℝ^{n×d_{model}}", "", "d_{model}", Role::Input},
    {"sum", "T + P", "embedding_sum", "ℝ^{n×d_{model}}", "", "d_{model}", Role::Input},
    {"of all heads", "Q", "all_q", "ℝ^{n×h·d_k}", "", "h·d_k", Role::Query},
    {"of all heads", "K", "all_k", "ℝ^{n×h_{kv}·d_k}", "", "h·d_k", Role::Key},
    {"of all heads", "V", "all_v", "ℝ^{n×h_{kv}·d_v}", "", "h·d_v", Role::Value},
    {"of all heads", "H", "all_heads", "ℝ^{n×h·d_v}", "", "h·d_v", Role::Output},
    {"load", "L", "expert_load", "ℝ^{1×E}", "all tokens", "E", Role::Output},
    {"query weights", "W_Q", "w_q", "ℝ^{d_{model}×d_k}", "d_{model}", "d_k", Role::Query},
    {"key weights", "W_K", "w_k", "ℝ^{d_{model}×d_k}", "d_{model}", "d_k", Role::Key},
    {"value weights", "W_V", "w_v", "ℝ^{d_{model}×d_v}", "d_{model}", "d_v", Role::Value},
    {"output weights", "W_O", "w_o", "ℝ^{h·d_v×d_{model}}", "h·d_v", "d_{model}", Role::Output},
    {"gate weights", "W_G", "w_gate", "ℝ^{d_{model}×d_{ff}}", "d_{model}", "d_{ff}", Role::Output},
    {"feed-forward weights", "W_1", "w_1", "ℝ^{d_{model}×d_{ff}}", "d_{model}", "d_{ff}", Role::Output},
    {"feed-forward weights", "W_2", "w_2", "ℝ^{d_{ff}×d_{model}}", "d_{ff}", "d_{model}", Role::Output},
    {"router weights", "W_R", "w_router", "ℝ^{d_{model}×E}", "d_{model}", "E", Role::Output},
};

const Names& names_of(StepMatrix matrix) { return kNames[static_cast<std::size_t>(matrix.other())]; }

constexpr float kMinCell = 4.0F, kMaxMapCell = 112.0F;
constexpr glm::vec2 kMaxVectorCell(15.0F, 24.0F);  // without a number

/// Returns the first of `shown` among `count` cells, with `in_view` in their middle.
std::uint32_t first_shown(std::uint32_t count, std::uint32_t shown, std::optional<std::uint32_t> in_view) {
  if (!in_view || *in_view < shown / 2) return 0;
  return std::min(*in_view - shown / 2, count - shown);
}

}  // namespace

MatrixPlan plan_matrix(StepMatrix stage, std::uint32_t rows, std::uint32_t columns, const PlanLimits& limits) {
  MatrixPlan plan{.stage = stage, .rows = rows, .columns = columns};
  const glm::vec2 most = glm::max(glm::floor(limits.room / glm::vec2(std::max(columns, 1U), std::max(rows, 1U))), kMinCell);
  plan.has_numbers = limits.wants_numbers && most.x >= limits.number.x && most.y >= limits.number.y;
  if (stage.is_map()) {
    const float square = std::min({most.x, most.y, kMaxMapCell});
    plan.cell = plan.has_numbers ? glm::max(glm::vec2(square), glm::min(limits.number, most)) : glm::vec2(square);
  } else {
    plan.cell = glm::min(most, plan.has_numbers ? glm::max(limits.number, kMaxVectorCell) : kMaxVectorCell);
  }
  const glm::vec2 shown = glm::max(glm::floor(limits.room / plan.cell), 1.0F);
  plan.shown_rows = std::min(rows, static_cast<std::uint32_t>(shown.y));
  plan.shown_columns = std::min(columns, static_cast<std::uint32_t>(shown.x));
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
  return role_color(matrix.is_stage() ? quantity(matrix.stage()).role : names_of(matrix).role, theme);
}

std::string step_space(StepMatrix matrix, const BlockGeometry& geometry) {
  if (!matrix.is_stage()) return names_of(matrix).space;
  const model::BlockKind kind = geometry.is_self ? model::BlockKind::EncoderSelf : model::BlockKind::Cross;
  return space_of(quantity(matrix.stage()), geometry.shape, kind);
}

const char* step_rows(StepMatrix matrix, const BlockGeometry& geometry) {
  if (matrix.is_weight() || matrix == StepMatrix::Other::ExpertLoad) return names_of(matrix).rows;
  if (matrix.has_key_rows()) return geometry.is_self ? "token" : "key";
  return matrix.is_map() || !geometry.is_self ? "query" : "token";
}

const char* step_columns(StepMatrix matrix) {
  if (matrix.is_map()) return "key";
  return matrix.is_stage() ? quantity(matrix.stage()).width.c_str() : names_of(matrix).columns;
}

}  // namespace headlight::app
