#include "app/views/steps/steps_flow.h"

#include "app/shapes/quantities/formulas.h"
#include "app/state/comparison.h"
#include "app/state/map_settings.h"
#include "app/views/steps/matrix_plan.h"
#include "app/widgets/cell_numbers.h"
#include "app/widgets/cells/shown_mask.h"
#include "app/widgets/cells/stage_text.h"
#include "app/widgets/text.h"
#include "app/widgets/thumbnail.h"
#include "app/widgets/tile_numbers.h"

namespace headlight::app {
namespace {

using attention::Stage;

constexpr float kGap = 14.0F;
constexpr float kMaxTokens = 92.0F;  // width of row labels that are tokens
constexpr float kMaxNumbersWidth = 520.0F;
constexpr float kLineGap = 14.0F;
constexpr float kMaxHeatWidth = 256.0F;
constexpr float kNarrowHeatWidths[] = {192.0F, 144.0F, 104.0F};
constexpr float kWeightWidth = 128.0F;  // of a weight matrix without numbers
constexpr float kWeightHeight = 160.0F;
constexpr float kSectionTitle = 34.0F;
constexpr float kSectionGap = 12.0F;

/// The room of a section.
struct Room {
  glm::vec2 origin{0.0F};
  float width = 0.0F;
  float heat_width = 0.0F;  ///< of a matrix without numbers
  const MatrixScrolls& scrolls;
};

struct SectionPlan {
  std::string title;
  std::vector<StepMatrix> matrices;
  std::optional<StepMatrix> cut = {};  ///< a matrix of all heads, whose columns of each head come first
  Stage last = Stage::Next;            ///< up to which it has the layer's stages
};

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

PlanLimits limits_of(const Frame& frame, const HeadSubject& subject, StepMatrix stage, const Room& room) {
  PlanLimits limits;
  limits.heat_width = room.heat_width;
  limits.number_width = kNumberCellWidth;
  limits.number_height = kNumberCellHeight;
  limits.max_width = std::min(room.width - kMaxTokens - kArrowWidth, kMaxNumbersWidth);
  limits.wants_numbers = frame.state[kMapView.show_numbers];
  if (const auto scroll = room.scrolls.find(stage); scroll != room.scrolls.end()) {
    limits.first_row = scroll->second.row;
    limits.first_column = scroll->second.column;
  }
  if (stage.is_weight()) {
    limits.heat_width = std::min(limits.heat_width, kWeightWidth);
    limits.heat_edge = kWeightHeight;
    // The selected head's rows of W_O.
    if (stage == StepMatrix::Other::OutputWeight) {
      limits.row_in_view = subject.geometry.head * subject.geometry.shape.d_v + subject.geometry.shape.d_v / 2;
    }
    return limits;
  }
  const auto& pinned = frame.state.view.pinned;
  if (pinned) limits.row_in_view = stage.has_key_rows() ? pinned->key : pinned->query;
  if (pinned && stage.is_map()) limits.column_in_view = pinned->key;
  if (stage == Stage::Merged) {
    const MatrixPart slice = head_slices(subject.geometry).front();
    limits.column_in_view = slice.column + slice.columns / 2;
    if (subject.geometry.merge == model::MergeOrder::WithoutTranspose) limits.row_in_view = slice.row;
  }
  return limits;
}

std::optional<inference::BlockShape::Extent> matrix_size(const HeadSubject& subject, StepMatrix matrix) {
  return matrix.is_stage() ? subject.geometry.shape.extent(matrix.stage()) : size_of(matrix, subject);
}

std::string formula_of(const Frame& frame, const HeadSubject& subject, StepMatrix matrix) {
  if (matrix == StepMatrix::Other::Memory) return "the encoder's output, or the second text";
  if (matrix == StepMatrix::Other::OutputWeight)
    return subject.has_all_heads ? "rows of all heads" : "all heads; framed: this one's rows";
  if (matrix > StepMatrix(StepMatrix::Other::OutputWeight)) return "the same for every token";
  if (matrix == StepMatrix::Other::ExpertLoad) return "share of the tokens that each expert gets";
  using Given = StepMatrix::Other;
  if (matrix == Given::TokenVectors) {
    const float scale = subject.embedding->scale;
    if (subject.embedding->dropped_id)
      return "rows of the embedding's table × 0.88 ÷ the share that isn't masked; masked tokens have 0";
    return scale == 1.0F ? "rows of the embedding's table" : fmt::format("rows of the embedding's table × {:.6g}", scale);
  }
  if (matrix == Given::PositionVectors) return "one row for each position";
  if (matrix == Given::TypeVectors) return "one row for each token type";
  if (matrix == Given::EmbeddingSum) return "before the embedding's norm";
  if (const JoinedHeads joined = joined_heads(matrix, subject.geometry.shape); joined.heads > 0) {
    return fmt::format("{} heads of {} columns", joined.heads, joined.width);
  }
  if (!matrix.is_stage()) {
    return subject.has_all_heads ? "columns of all heads" : fmt::format("columns of head {}", subject.geometry.head);
  }
  if (matrix != Stage::Masked) {
    return quantity(matrix.stage())
        .formula({.block = subject.block,
                  .layer = subject.layer,
                  .head = subject.geometry.head,
                  .mask = &frame.state.masks[subject.block.kind],
                  .pattern = fixed_pattern(frame.state, subject.block, subject.geometry.head),
                  .score = frame.result.capture ? frame.result.capture->score(subject.block) : nullptr});
  }
  const ShownMask shown(frame);
  const attention::KeyRange keys = key_range(frame, subject.block.kind);
  const attention::MaskSpec& mask = shown.spec();
  const std::string summary = mask_summary(mask, keys.end - keys.begin < subject.geometry.shape.keys);
  return summary.empty() ? "nothing is masked" : fmt::format("{} → {}", summary, fill_text(mask.fill));
}

/// Returns the width; 0 where a head's numbers are no columns of the merged ones.
std::uint32_t head_width_of_merged(const BlockGeometry& geometry) {
  return geometry.merge == model::MergeOrder::Concatenate ? geometry.shape.d_v : 0;
}

MatrixView make_view(const Frame& frame, const HeadSubject& subject, StepMatrix matrix, const Room& room, bool is_first) {
  const inference::BlockShape::Extent size = *matrix_size(subject, matrix);
  const model::BlockKind kind = subject.block.kind;
  MatrixView view;
  view.plan = plan_matrix(matrix, size.rows, size.columns, limits_of(frame, subject, matrix, room));
  // Scaled and masked are already said by the symbols.
  view.title = step_title(matrix == Stage::Scaled || matrix == Stage::Masked ? StepMatrix(Stage::Scores) : matrix);
  view.formula = formula_of(frame, subject, matrix);
  view.shape = fmt::format("{} = {} × {}", step_space(matrix, subject.geometry), size.rows, size.columns);
  view.remark = remark(view.plan, subject.geometry);
  if (matrix.is_stage() && shows_difference_of(frame, matrix.stage())) {
    view.remark += fmt::format("{}{}", view.remark.empty() ? "" : " \u00B7 ", difference_caption(frame.state));
  }
  view.head_width = joined_heads(matrix, subject.geometry.shape).width;
  if (matrix == Stage::Merged && subject.has_all_heads) view.head_width = head_width_of_merged(subject.geometry);
  view.row_axis = step_rows(matrix, subject.geometry);
  view.column_axis = step_columns(matrix);
  if (matrix.is_weight() || matrix == StepMatrix::Other::ExpertLoad) return view;
  if (frame.result.input) {
    const model::TokenBatch& tokens =
        matrix.has_key_rows() ? frame.result.input->keys(kind) : frame.result.input->queries(kind);
    view.row_tokens = tokens.labels(frame.state.selection.batch);
  }
  // Tokens where a row of matrices begins, and where the rows are another sequence than before.
  const bool begins_sequence = is_first || matrix == StepMatrix::Other::Memory ||
                               (matrix == Stage::K && !subject.geometry.is_self && !subject.geometry.has_weights);
  view.names_tokens = view.row_tokens && view.plan.cell.y >= 13.0F && begins_sequence;
  if (view.names_tokens) {
    float widest = 0.0F;
    for (const std::string& token : *view.row_tokens) widest = std::max(widest, text_width(frame.ui.fonts().small, token));
    view.gutter = std::clamp(std::ceil(widest) + 36.0F, 52.0F, kMaxTokens);
  }
  return view;
}

/// Places a section's boxes from left to right, wrapping; returns the y below them.
float place(const Frame& frame, StepSection& section, const Room& room) {
  glm::vec2 at = room.origin + glm::vec2(0.0F, kSectionTitle);
  float line_height = 0.0F;
  std::vector<glm::vec2> sizes;  // with the arrow
  for (const StepBox& box : section.boxes) {
    const float arrow = box.operation.empty() ? 0.0F : kArrowWidth;
    sizes.push_back(measure_matrix(frame, box.view) + glm::vec2(arrow, 0.0F));
  }
  for (std::size_t i = 0; i < section.boxes.size(); ++i) {
    StepBox& box = section.boxes[i];
    const float arrow = box.operation.empty() ? 0.0F : kArrowWidth;
    const glm::vec2 size = sizes[i] - glm::vec2(arrow, 0.0F);
    // A weight matrix and what it makes stand side by side wherever a line has room for both.
    const bool has_product = box.view.plan.stage.is_weight() && i + 1 < sizes.size();
    const float both = has_product ? sizes[i].x + kGap + sizes[i + 1].x : 0.0F;
    const float needed = both <= room.width ? std::max(both, sizes[i].x) : sizes[i].x;
    if (at.x > room.origin.x && at.x + needed > room.origin.x + room.width) {
      at = {room.origin.x, at.y + (line_height + kLineGap)};
      line_height = 0.0F;
    }
    box.arrow_x = at.x;
    box.view.origin = {at.x + arrow, at.y};
    at.x += arrow + size.x + kGap;
    line_height = std::max(line_height, size.y);
  }
  return at.y + line_height;
}

struct PlacedSection {
  StepSection section;
  float bottom = 0.0F;
};

/// Returns the stages of a section, each with what it is made from beside other stages.
std::vector<StepMatrix> matrices_of(const HeadSubject& subject, attention::Stage first, attention::Stage last) {
  using Given = StepMatrix::Other;
  const attention::LayerGraph graph(subject.geometry.shape, subject.block.kind, subject.layer);
  std::vector<StepMatrix> matrices;
  for (const attention::LayerNode& node : graph.nodes()) {
    if (node.stage < first || node.stage > last) continue;
    if (node.stage == Stage::Heads && subject.has_all_heads) continue;  // all of them stand beside each other
    if (node.stage == Stage::K && node.reads_memory) matrices.emplace_back(Given::Memory);
    if (node.weight) matrices.emplace_back(*node.weight);
    constexpr std::array kJoined = {Given::AllQueries, Given::AllKeys, Given::AllValues};
    const bool is_joined = subject.has_all_heads && node.stage >= Stage::Q && node.stage <= Stage::V;
    matrices.push_back(is_joined ? StepMatrix(kJoined.at(static_cast<std::size_t>(node.stage) - 2))
                                 : StepMatrix(node.stage));
    if (node.operation == attention::LayerOperation::Route) matrices.emplace_back(Given::ExpertLoad);
  }
  return matrices;
}

std::vector<SectionPlan> plan_sections(const HeadSubject& subject) {
  using Given = StepMatrix::Other;
  const inference::BlockShape& shape = subject.geometry.shape;
  const bool is_whole = subject.has_all_heads;
  std::vector<SectionPlan> plans;
  Stage first = Stage::Residual;  // of the stages that no section has yet
  const auto add = [&](std::string title, Stage last) {
    plans.push_back({.title = std::move(title), .matrices = matrices_of(subject, first, last), .last = last});
    first = static_cast<Stage>(static_cast<std::size_t>(last) + 1);
  };
  const std::optional<StepMatrix> embedded = embedded_stage(subject);
  if (embedded) {
    plans.push_back(
        {.title = "Look every token up, add its position",
         .matrices = {Given::TokenVectors, Given::PositionVectors, Given::TypeVectors, Given::EmbeddingSum, *embedded}});
  }
  add("Project every token", Stage::V);
  if (embedded) std::erase(plans.back().matrices, *embedded);  // which stands above already
  if (is_whole && shape.extent(Stage::Q)) {
    plans.push_back(
        {.title = fmt::format("Cut Q into heads: ({0}, {1}) → view ({0}, {2}, {3}) → transpose ({2}, {0}, {3}); K and V "
                              "likewise",
                              shape.queries, shape.heads * shape.d_k, shape.heads, shape.d_k),
         .matrices = {},
         .cut = Given::AllQueries});
  }
  add(is_whole ? fmt::format("Compare queries with keys, in head {}", subject.geometry.head) : "Compare queries with keys",
      Stage::Weights);
  if (is_whole && shape.extent(Stage::Heads)) {
    const bool is_bug = subject.geometry.merge == model::MergeOrder::WithoutTranspose;
    add(fmt::format("Mix the values in every head, put the heads together: ({1}, {0}, {2}) → {3} ({0}, {4})", shape.queries,
                    shape.heads, shape.d_v,
                    is_bug ? "reshape without a transpose"
                           : fmt::format("transpose ({}, {}, {}) → reshape", shape.queries, shape.heads, shape.d_v),
                    shape.d_merged),
        Stage::Output);
    plans.back().cut = Given::AllHeads;
  } else {
    add("Mix the values, merge the heads", Stage::Output);
  }
  add("Add to the residual stream", Stage::FfnInput);
  const auto* experts = subject.layer && subject.layer->experts ? &*subject.layer->experts : nullptr;
  add(experts == nullptr ? "Feed-forward, each token by itself"
                         : fmt::format("Mixture of experts: the router gives each token to {} of {}{}", experts->per_token,
                                       experts->count(), experts->shared ? ", and to the shared expert" : ""),
      Stage::Next);
  return plans;
}

/// Returns a section's title; of a capture it says what the file has and what it lacks.
std::string section_title(const Frame& frame, const HeadSubject& subject, const SectionPlan& plan) {
  const inference::BlockShape& shape = subject.geometry.shape;
  if (plan.matrices.empty()) return plan.title;
  if (!frame.result.capture) {
    return plan.last == Stage::V && !shape.has_input ? "Queries, keys and values are given" : plan.title;
  }
  const bool has_scores = !shape.only_weights;
  if (plan.last == Stage::V) {
    if (!has_scores) return "Values, as they were saved; queries and keys (q, k) are not in the file";
    return shape.has_values ? "Queries, keys and values, as they were saved"
                            : "Queries and keys, as they were saved; values (v) are not in the file";
  }
  if (plan.last == Stage::Weights) return has_scores ? plan.title : "Weights, as they were saved";
  return shape.has_values ? "Mix the values, merge the heads; W_O is not in the file"
                          : "What heads add needs values (v), which are not in the file";
}

/// Returns one head's columns of a matrix of all heads, in as many rows as that one shows.
StepBox head_part(const Frame& frame, const HeadSubject& subject, StepMatrix matrix, const Room& room, std::uint32_t head) {
  constexpr float kPartWidth = 96.0F, kMaxNumbers = 176.0F;
  StepBox box{.view = make_view(frame, subject, matrix, room, head == 0), .operation = {}, .is_part = true};
  MatrixView& view = box.view;
  const std::uint32_t width = view.head_width;
  const float numbers = static_cast<float>(width) * kNumberCellWidth;
  view.plan.has_numbers =
      frame.state[kMapView.show_numbers] && view.plan.cell.y >= kNumberCellHeight && numbers <= kMaxNumbers;
  view.plan.first_column = head * width;
  view.plan.shown_columns = width;
  view.plan.cell.x =
      view.plan.has_numbers ? kNumberCellWidth : std::clamp(kPartWidth / static_cast<float>(width), 1.0F, 15.0F);
  view.title = fmt::format("head {}", head);
  view.formula = fmt::format("columns {} … {}", head * width, (head + 1) * width - 1);
  view.shape = fmt::format("{} × {}", view.plan.rows, width);
  view.remark.clear();
  return box;
}

PlacedSection lay_out_section(const Frame& frame, const HeadSubject& subject, const SectionPlan& plan, const Room& room) {
  PlacedSection placed{.section = {.title = section_title(frame, subject, plan), .y = room.origin.y, .boxes = {}},
                       .bottom = 0.0F};
  std::vector<StepBox>& boxes = placed.section.boxes;
  if (plan.cut) {
    constexpr std::uint32_t kMaxHeads = 16;
    const std::uint32_t heads = joined_heads(*plan.cut, subject.geometry.shape).heads;
    for (std::uint32_t head = 0; head < std::min(heads, kMaxHeads); ++head) {
      boxes.push_back(head_part(frame, subject, *plan.cut, room, head));
    }
    if (heads > kMaxHeads) boxes.back().view.remark = fmt::format("… and {} more heads", heads - kMaxHeads);
  }
  for (const StepMatrix matrix : plan.matrices) {
    // The input is the residual stream itself where there is no norm before attention.
    if (matrix == Stage::Residual && !(subject.layer && subject.layer->norms.before)) continue;
    if (!matrix_size(subject, matrix)) continue;
    boxes.push_back({.view = make_view(frame, subject, matrix, room, boxes.empty()),
                     .operation = operation(matrix, subject),
                     .arrow_x = 0.0F});
  }
  placed.bottom = place(frame, placed.section, room);
  return placed;
}

}  // namespace

StepFlow lay_out_steps(const Frame& frame, const HeadSubject& subject, const MatrixScrolls& scrolls, glm::vec2 origin,
                       float width) {
  StepFlow flow;
  for (const SectionPlan& plan : plan_sections(subject)) {
    const auto exists = [&](StepMatrix matrix) { return matrix_size(subject, matrix).has_value(); };
    if (std::ranges::none_of(plan.matrices, exists) && !plan.cut) continue;
    // Coloured matrices may be narrower when that saves a line.
    PlacedSection best = lay_out_section(
        frame, subject, plan, {.origin = origin, .width = width, .heat_width = kMaxHeatWidth, .scrolls = scrolls});
    for (const float heat_width : kNarrowHeatWidths) {
      PlacedSection other = lay_out_section(
          frame, subject, plan, {.origin = origin, .width = width, .heat_width = heat_width, .scrolls = scrolls});
      if (other.bottom < best.bottom - 1.0F) best = std::move(other);
    }
    origin.y = best.bottom + kSectionGap;
    flow.sections.push_back(std::move(best.section));
  }
  flow.height = origin.y;
  return flow;
}

}  // namespace headlight::app
