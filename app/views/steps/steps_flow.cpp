#include "app/views/steps/steps_flow.h"

#include "app/shapes/quantities/formulas.h"
#include "app/state/comparison.h"
#include "app/state/map_settings.h"
#include "app/widgets/cell_numbers.h"
#include "app/widgets/cells/shown_mask.h"
#include "app/widgets/cells/stage_text.h"
#include "app/widgets/prediction_bars.h"
#include "app/widgets/sentence.h"
#include "app/widgets/text.h"
#include "app/widgets/thumbnail.h"
#include "app/widgets/tile_numbers.h"

namespace headlight::app {
namespace {

using attention::Stage;

constexpr float kGap = 14.0F;
constexpr float kLineGap = 14.0F;
constexpr float kWeightShare = 0.3F;  // of the room's width, for a weight matrix
constexpr float kMinBox = 120.0F;
constexpr float kMaxColumnLabels = 96.0F;
constexpr float kScrolls = 9.0F, kRemark = 18.0F;
constexpr glm::vec2 kMinCells(48.0F);

/// Returns the stage that the embedding's parts add up to; nullopt where the steps don't begin with them.
std::optional<StepMatrix> embedded_stage(const HeadSubject& subject) {
  if (!subject.embedding || !subject.layer) return std::nullopt;
  if (!size_of(StepMatrix::Other::TokenVectors, subject)) return std::nullopt;
  return subject.layer->norms.before ? Stage::Residual : Stage::X;
}

/// Returns the label above the arrow to a matrix.
std::string operation(StepMatrix matrix, const HeadSubject& subject) {
  if (matrix == StepMatrix::Other::EmbeddingSum) return "+";
  if (!matrix.is_stage()) return "";
  if (matrix == embedded_stage(subject))
    return subject.embedding->norm ? formulas::norm_name(*subject.embedding->norm) : "+";
  const attention::LayerGraph graph(subject.geometry.shape, subject.block.kind, subject.layer);
  const attention::LayerNode* node = graph.find(matrix.stage());
  return node == nullptr ? ""
                         : formulas::label(*node, {.block = subject.block, .layer = subject.layer}, formulas::Detail::Brief);
}

/// Returns "rows 0–63 of 400", "columns 0–63 of 512", and what is framed in the merged heads.
std::string remark(const MatrixPlan& plan, const BlockGeometry& geometry) {
  std::string text;
  if (plan.shown_rows < plan.rows) {
    text = fmt::format("rows {}–{} of {}", plan.first_row, plan.first_row + plan.shown_rows - 1, plan.rows);
  }
  if (plan.shown_columns < plan.columns) {
    text += fmt::format("{}columns {}–{} of {}", text.empty() ? "" : ", ", plan.first_column,
                        plan.first_column + plan.shown_columns - 1, plan.columns);
  }
  if (plan.stage == Stage::Merged && geometry.shape.heads > 1) {
    text += fmt::format("{}framed: head {}", text.empty() ? "" : " · ", geometry.head);
  }
  return text;
}

PlanLimits limits_of(Frame& frame, const HeadSubject& subject, StepMatrix stage, const MatrixScrolls& scrolls,
                     glm::vec2 room) {
  PlanLimits limits;
  limits.number = {kNumberCellWidth, kNumberCellHeight};
  limits.room = room;
  limits.wants_numbers = frame.state[kMapView.show_numbers];
  if (const auto scroll = scrolls.find(stage); scroll != scrolls.end()) {
    limits.first_row = scroll->second.row;
    limits.first_column = scroll->second.column;
  }
  // The selected head's rows of W_O.
  if (stage == StepMatrix::Other::OutputWeight) {
    limits.row_in_view = subject.geometry.head * subject.geometry.shape.d_v + subject.geometry.shape.d_v / 2;
  }
  if (stage.is_weight()) return limits;
  limits.row_in_view = row_of_interest(frame, stage);
  const std::optional<attention::Cell> told = told_cell(frame);
  if (const auto& pinned = frame.state.view.pinned; pinned && stage.is_map()) {
    limits.column_in_view = pinned->key;
  } else if (stage.is_map() && told && told->query == limits.row_in_view) {
    limits.column_in_view = told->key;
  }
  if (stage == Stage::Merged) {
    const MatrixPart slice = head_slices(subject.geometry).front();
    limits.column_in_view = slice.column + slice.columns / 2;
    if (subject.geometry.merge == model::MergeOrder::WithoutTranspose) limits.row_in_view = slice.row;
  }
  return limits;
}

/// Returns the width; 0 where a head's numbers are no columns of the merged ones.
std::uint32_t head_width_of_merged(const BlockGeometry& geometry) {
  return geometry.merge == model::MergeOrder::Concatenate ? geometry.shape.d_v : 0;
}

/// Returns the matrix as it is shown in a room, which is that of all: labels, cells and colour bar.
MatrixView make_view(Frame& frame, const HeadSubject& subject, StepMatrix matrix, const MatrixScrolls& scrolls,
                     glm::vec2 room, bool is_alone) {
  const inference::BlockShape::Extent size = *matrix_size(subject, matrix);
  MatrixView view;
  view.plan.stage = matrix;
  view.is_alone = is_alone;
  if (frame.result.input && !matrix.is_weight() && matrix != StepMatrix::Other::ExpertLoad) {
    const std::uint32_t line = frame.state.selection.batch;
    const model::TokenBatch& keys = shown_keys(frame);
    view.row_tokens = (matrix.has_key_rows() ? keys : shown_queries(frame)).labels(line);
    if (matrix.is_map()) {
      view.column_tokens = keys.labels(line);
      if (auto written = written_tokens(frame)) {
        view.written = std::make_shared<const std::vector<std::string>>(std::move(*written));
        view.row_tokens = view.written.get();
      }
    }
  }
  make_room_for_labels(frame, view, kMaxColumnLabels);
  const auto plan = [&](glm::vec2 below) {
    const glm::vec2 around = glm::vec2(view.gutter + view.overhang, height_above(view) + kMatrixBar) + below;
    view.plan = plan_matrix(matrix, size.rows, size.columns,
                            limits_of(frame, subject, matrix, scrolls, glm::max(room - around, kMinCells)));
    view.remark = remark(view.plan, subject.geometry);
    if (matrix.is_stage() && shows_difference_of(frame, matrix.stage())) {
      view.remark += fmt::format("{}{}", view.remark.empty() ? "" : " \u00B7 ", difference_caption(frame.state));
    }
  };
  plan({});
  if (view.column_tokens && view.plan.cell.x < font_size(frame.ui.fonts().small)) {  // columns have numbers alone
    view.column_tokens = nullptr;
    view.ticks = MatrixView().ticks;
    view.overhang = 0.0F;
    plan({});
  }
  if (!view.remark.empty()) plan({kScrolls, kScrolls + kRemark});
  // Scaled and masked are already said by the symbols.
  view.title = step_title(matrix == Stage::Scaled || matrix == Stage::Masked ? StepMatrix(Stage::Scores) : matrix);
  view.formula = formula_of(frame, subject, matrix);
  view.shape = fmt::format("{}: {} × {}", step_space(matrix, subject.geometry), size.rows, size.columns);
  view.head_width = joined_heads(matrix, subject.geometry.shape).width;
  if (matrix == Stage::Merged && subject.has_all_heads) view.head_width = head_width_of_merged(subject.geometry);
  view.row_axis = view.written ? "writes" : step_rows(matrix, subject.geometry);
  view.column_axis = step_columns(matrix);
  return view;
}

/// Places boxes from left to right, wrapping. Returns the y below them.
float place(const Frame& frame, std::vector<StepBox>& boxes, const chart::Rect& room) {
  glm::vec2 at = room.origin;
  float line_height = 0.0F;
  for (StepBox& box : boxes) {
    const float arrow = box.operation.empty() ? 0.0F : kArrowWidth;
    const glm::vec2 size = measure_matrix(frame, box.view) + glm::vec2(arrow, 0.0F);
    if (at.x > room.origin.x && at.x + size.x > room.end().x) {
      at = {room.origin.x, at.y + (line_height + kLineGap)};
      line_height = 0.0F;
    }
    box.arrow_x = at.x;
    box.view.origin = {at.x + arrow, at.y};
    at.x += size.x + kGap;
    line_height = std::max(line_height, size.y);
  }
  return at.y + line_height;
}

/// Returns the matrix of all heads whose columns of each head a step shows as well.
std::optional<StepMatrix> cut_matrix(const HeadSubject& subject, Stage stage) {
  using Given = StepMatrix::Other;
  if (!subject.has_all_heads) return std::nullopt;
  if (stage == Stage::Q) return Given::AllQueries;
  if (stage == Stage::K) return Given::AllKeys;
  if (stage == Stage::V) return Given::AllValues;
  return stage == Stage::Heads ? std::optional<StepMatrix>(Given::AllHeads) : std::nullopt;
}

/// Returns one head's columns of a matrix of all heads, in as many rows as that one shows.
StepBox head_part(const Frame& frame, const MatrixView& whole, std::uint32_t head) {
  constexpr float kPartWidth = 96.0F, kMaxNumbers = 176.0F;
  StepBox box{.view = whole, .operation = {}, .is_part = true};
  MatrixView& view = box.view;
  const std::uint32_t width = view.head_width;
  const float numbers = static_cast<float>(width) * kNumberCellWidth;
  view.plan.has_numbers =
      frame.state[kMapView.show_numbers] && view.plan.cell.y >= kNumberCellHeight && numbers <= kMaxNumbers;
  view.plan.first_column = head * width;
  view.plan.shown_columns = width;
  view.plan.cell.x =
      view.plan.has_numbers ? kNumberCellWidth : std::clamp(kPartWidth / static_cast<float>(width), 1.0F, 15.0F);
  view.is_alone = false;
  view.title = fmt::format("head {}", head);
  view.formula = fmt::format("columns {} … {}", head * width, (head + 1) * width - 1);
  view.shape = fmt::format("{} × {}", view.plan.rows, width);
  view.remark.clear();
  return box;
}

}  // namespace

std::uint32_t row_of_interest(const Frame& frame, StepMatrix matrix) {
  const bool are_keys = matrix.has_key_rows();
  const std::uint32_t end = (are_keys ? key_range(frame) : query_range(frame)).end;
  return chosen_token(frame.state.view, are_keys ? MapSide::Key : MapSide::Query).value_or(std::max(end, 1U) - 1);
}

std::optional<inference::BlockShape::Extent> matrix_size(const HeadSubject& subject, StepMatrix matrix) {
  return matrix.is_stage() ? subject.geometry.shape.extent(matrix.stage()) : size_of(matrix, subject);
}

std::vector<StepMatrix> matrices_of_step(const HeadSubject& subject, Stage stage) {
  using Given = StepMatrix::Other;
  std::vector<StepMatrix> matrices;
  if (embedded_stage(subject) == StepMatrix(stage)) {
    matrices = {Given::TokenVectors, Given::PositionVectors, Given::TypeVectors, Given::EmbeddingSum};
  }
  const attention::LayerGraph graph(subject.geometry.shape, subject.block.kind, subject.layer);
  if (const attention::LayerNode* node = graph.find(stage)) {
    if (stage == Stage::K && node->reads_memory) matrices.emplace_back(Given::Memory);
    if (node->weight) matrices.emplace_back(*node->weight);
    if (node->operation == attention::LayerOperation::Route) matrices.emplace_back(Given::ExpertLoad);
  }
  matrices.push_back(cut_matrix(subject, stage).value_or(stage));
  std::erase_if(matrices, [&](StepMatrix matrix) { return !matrix_size(subject, matrix); });
  return matrices;
}

PlacedStep lay_out_step(Frame& frame, const HeadSubject& subject, Stage stage, const MatrixScrolls& scrolls,
                        const chart::Rect& room) {
  PlacedStep step;
  const std::vector<StepMatrix> matrices = matrices_of_step(subject, stage);
  const std::optional<StepMatrix> cut = cut_matrix(subject, stage);
  float width = room.size.x;
  std::size_t left = matrices.size();
  for (const StepMatrix matrix : matrices) {
    const float share = matrix.is_weight() ? kWeightShare : 1.0F / static_cast<float>(left);
    StepBox box{.view = {}, .operation = operation(matrix, subject)};
    const float arrow = box.operation.empty() || left == matrices.size() ? 0.0F : kArrowWidth;
    if (arrow == 0.0F) box.operation.clear();  // its sentence has it
    const glm::vec2 part(std::max((left > 1 ? width * share : width) - arrow, kMinBox), room.size.y);
    box.view = make_view(frame, subject, matrix, scrolls, part, matrices.size() == 1 && !cut);
    width -= measure_matrix(frame, box.view).x + arrow + kGap;
    --left;
    step.boxes.push_back(std::move(box));
  }
  float all = -kGap;
  for (const StepBox& box : step.boxes) {
    all += measure_matrix(frame, box.view).x + (box.operation.empty() ? 0.0F : kArrowWidth) + kGap;
  }
  if (all > room.size.x && !cut) {  // the step's matrix is seen first, and what it is made from below
    constexpr float kShare = 0.55F;
    std::ranges::rotate(step.boxes, step.boxes.end() - 1);
    step.boxes.front().operation.clear();
    step.boxes.front().view =
        make_view(frame, subject, matrices.back(), scrolls, {room.size.x * kShare, room.size.y}, false);
  }
  if (cut && !step.boxes.empty()) {
    constexpr std::uint32_t kMaxHeads = 16;
    const std::uint32_t heads = joined_heads(*cut, subject.geometry.shape).heads;
    const MatrixView whole = step.boxes.back().view;
    for (std::uint32_t head = 0; head < std::min(heads, kMaxHeads); ++head) {
      step.boxes.push_back(head_part(frame, whole, head));
    }
    if (heads > kMaxHeads) step.boxes.back().view.remark = fmt::format("… and {} more heads", heads - kMaxHeads);
  }
  step.height = place(frame, step.boxes, room) - room.origin.y;
  return step;
}

}  // namespace headlight::app
