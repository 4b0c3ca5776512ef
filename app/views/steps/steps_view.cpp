#include "app/views/steps/steps_view.h"

#include "app/shapes/quantities/stage_words.h"
#include "app/state/map_settings.h"
#include "app/views/steps/steps_flow.h"
#include "app/widgets/arithmetic_strip.h"
#include "app/widgets/controls.h"
#include "app/widgets/thumbnail.h"

namespace headlight::app {
namespace {

using attention::Stage;

constexpr float kMargin = 4.0F;
constexpr float kLowStrip = 92.0F;                              // of the arithmetic below the matrix
constexpr float kStripShare = 0.34F;                            // of the height: all matrices, small
constexpr float kMinMapRoom = 600.0F, kMinVectorRoom = 960.0F;  // widths that leave room for a row beside the matrix
constexpr float kRowGap = 16.0F, kWidestRow = 760.0F;

/// Handles clicks: one holds the cell, another one on it lets it go. On a map it pins as well, and a right click pins alone:
/// as on the big heatmap.
void hold_on_click(Frame& frame, StepsMemory& memory, const StepCell& cell) {
  const bool is_left = ImGui::IsMouseClicked(ImGuiMouseButton_Left);
  const bool is_right = ImGui::IsMouseClicked(ImGuiMouseButton_Right);
  if (!is_left && !is_right) return;
  if (is_left) memory.held = memory.held == cell ? std::nullopt : std::optional(cell);
  if (!cell.matrix.is_map()) return;
  std::optional<attention::Cell>& pinned = frame.state.view.pinned;
  const bool unpins = is_left ? !memory.held : pinned == cell.cell;
  pinned = unpins ? std::nullopt : std::optional(cell.cell);
  memory.pinned = pinned;  // it changes no scroll
}

/// Forgets what belongs to another head; a cell pinned elsewhere scrolls into view.
void follow_selection(const Frame& frame, StepsMemory& memory) {
  if (memory.selection != frame.state.selection) {
    memory.held.reset();
    memory.scrolls.clear();
    memory.typed.close();
  }
  if (memory.pinned != frame.state.view.pinned) memory.scrolls.clear();
  memory.selection = frame.state.selection;
  memory.pinned = frame.state.view.pinned;
}

bool has_cell(const HeadSubject& subject, const StepCell& cell) {
  const auto size = matrix_size(subject, cell.matrix);
  return size && cell.cell.query < size->rows && cell.cell.key < size->columns;
}

/// Returns the cell under the pointer, else the held one, else the pinned cell's number in a map.
std::optional<StepCell> cell_of_interest(Frame& frame, const HeadSubject& subject, const PlacedStep& step, Stage shown,
                                         StepsMemory& memory) {
  if (ImGui::IsWindowHovered() && !memory.typed.covers(pointer_position())) {
    for (const StepBox& box : step.boxes) {
      const auto cell = matrix_cell_at(box.view, pointer_position());
      if (!cell) continue;
      const StepMatrix matrix = box.view.plan.stage;
      if (matrix.is_stage()) frame.point_at(*cell, matrix.stage());
      memory.pointed = {.matrix = matrix, .cell = *cell};
      hold_on_click(frame, memory, *memory.pointed);
      return memory.pointed;
    }
  }
  if (memory.held && !has_cell(subject, *memory.held)) memory.held.reset();  // another network has other matrices
  if (memory.held) return memory.held;
  if (!frame.state.view.pinned) return std::nullopt;
  return StepCell{.matrix = attention::is_map(shown) ? shown : Stage::Weights, .cell = *frame.state.view.pinned};
}

void draw_arrow(const Frame& frame, const StepBox& box) {
  if (box.operation.empty()) return;
  const shell::Theme& theme = frame.ui.theme();
  const shell::FontSet& fonts = frame.ui.fonts();
  ImDrawList* list = ImGui::GetWindowDrawList();
  const chart::Rect cells = box.view.cells();
  const float y = std::round(cells.origin.y + std::min(cells.size.y * 0.5F, 96.0F)) + 0.5F;
  const float left = box.arrow_x + 2.0F;
  const float right = box.arrow_x + kArrowWidth - 6.0F;
  draw_line({left, y}, {right - 5.0F, y}, theme.text_dim, 1.5F);
  list->AddTriangleFilled(ImVec2(right - 7.0F, y - 4.5F), ImVec2(right - 7.0F, y + 4.5F), ImVec2(right, y), theme.text_dim);
  const glm::vec2 size = measure_math(fonts, fonts.small, box.operation);
  draw_math(fonts, fonts.small, {std::round((left + right - size.x) * 0.5F), y - size.y - 9.0F}, theme.text, box.operation);
}

/// Returns the head's part of the merged heads, and of the weight that reads them.
std::vector<MatrixPart> slices_of(const BlockGeometry& geometry) {
  if (geometry.shape.heads < 2) return {};
  std::vector<MatrixPart> slices = head_slices(geometry);
  if (geometry.merge == model::MergeOrder::Concatenate) {
    slices.push_back({.stage = StepMatrix::Other::OutputWeight,
                      .row = geometry.head * geometry.shape.d_v,
                      .rows = geometry.shape.d_v,
                      .column = 0,
                      .columns = std::max(geometry.shape.d_output, 1U)});
  }
  return slices;
}

/// Keeps the matrices for the figure: those of the strip, and the unfolded one with the weight that makes it.
void keep_drawn(Frame& frame, const HeadSubject& subject, const BlockFlow& flow, const PlacedStep& step,
                StepsMemory& memory) {
  memory.drawn.clear();
  memory.input = frame.result.input;
  const auto keep = [&](StepsMemory::Drawn drawn, const TileQuery& query) {
    const auto known = frame.result.tiles.find(query);
    if (known == frame.result.tiles.end() || !known->second.tile) return;
    drawn.of = query.quantity;
    drawn.tile = known->second.tile;
    memory.drawn.push_back(std::move(drawn));
  };
  for (const PlacedNode& placed : flow.layout.nodes) {
    const BlockNode& node = flow.plan.nodes[placed.node];
    const chart::Region whole{.rows = node.rows, .columns = node.columns};
    if (&node != flow.opened) {
      keep({.stage = node.stage, .whole = whole, .shown = whole}, node_query(frame, subject, node, placed.cells.size));
      continue;
    }
    for (const StepBox& box : step.boxes) {  // a weight comes before what it makes
      const MatrixPlan& plan = box.view.plan;
      if (!plan.stage.is_weight() || plan.stage.weight() > attention::LayerWeight::Value) continue;
      const StepValues::Known* known = memory.values.find(frame, plan.stage, subject, box.view.window());
      if (known == nullptr) continue;
      memory.drawn.push_back({.stage = node.stage,
                              .of = node.stage,
                              .weight = fmt::format("W_{}", letter_of(plan.stage.weight())),
                              .whole = {.rows = plan.rows, .columns = plan.columns},
                              .shown = box.view.window(),
                              .tile = std::make_shared<const attention::Tile>(known->tile)});
    }
    for (const StepBox& box : step.boxes) {
      if (box.view.plan.stage == StepMatrix(node.stage))
        keep({.stage = node.stage,
              .whole = whole,
              .shown = box.view.window(),
              .reach = shared_reach(frame, box.view.query(frame))},
             box.view.query(frame));
    }
  }
}

/// Outlines the matrix that a lesson points at, and scrolls to it when the card is opened.
void draw_aim(const Frame& frame, const StepBox& box) {
  if (step_name(box.view.plan.stage) != frame.transient.aim.matrix) return;
  const chart::Rect cells = box.view.cells();
  outline_rect(cells.origin - 4.0F, cells.end() + 4.0F, frame.ui.theme().accent, 3.0F, 2.0F);
  if (!frame.transient.aim.scrolls) return;
  ImGui::SetScrollFromPosY(box.view.origin.y - 6.0F - ImGui::GetWindowPos().y, 0.0F);
  const float right = cells.end().x + 8.0F - ImGui::GetWindowPos().x;
  if (right > ImGui::GetWindowWidth()) ImGui::SetScrollFromPosX(right, 1.0F);
}

/// Returns the matrix that is unfolded: the one of a lesson's card, the chosen one, else the weights, else what there is.
const BlockNode& unfolded_node(const Frame& frame, const BlockPlan& plan, const StepsMemory& memory) {
  if (const BlockNode* aimed = memory.aimed_stage ? plan.find(*memory.aimed_stage) : nullptr) return *aimed;
  if (const BlockNode* chosen = plan.find(frame.state.opened_matrix)) return *chosen;
  if (const BlockNode* weights = plan.find(Stage::Weights)) return *weights;
  return plan.nodes.front();
}

/// Unfolds the matrix before or after the unfolded one by Page Up and Page Down, and once the one that a lesson's card
/// points at.
void walk_by_keys(Frame& frame, const HeadSubject& subject, const BlockPlan& plan, StepsMemory& memory) {
  if (std::exchange(memory.opened, frame.state.opened_matrix) != frame.state.opened_matrix) memory.aimed_stage.reset();
  const BlockNode& shown = unfolded_node(frame, plan, memory);
  const auto unfold = [&](const BlockNode& node) {
    memory.aimed_stage.reset();
    frame.state.opened_matrix = std::string(node.id());
  };
  const bool has_keys = !has_popup();
  if (has_keys && frame.ui.is_pressed(shell::Key::PageUp) && &shown != &plan.nodes.front()) unfold(*(&shown - 1));
  if (has_keys && frame.ui.is_pressed(shell::Key::PageDown) && &shown != &plan.nodes.back()) unfold(*(&shown + 1));
  const Aim& aim = frame.transient.aim;
  if (std::exchange(memory.aimed, aim.matrix) == aim.matrix && !aim.scrolls) return;
  memory.aimed_stage.reset();
  for (const BlockNode& node : plan.nodes) {
    const std::vector<StepMatrix> matrices = matrices_of_step(subject, node.stage);
    if (std::ranges::find(matrices, aim.matrix, &step_name) != matrices.end()) memory.aimed_stage = node.stage;
  }
}

/// Returns where a cell is drawn; nullopt where it isn't.
std::optional<chart::Rect> rect_of(const PlacedStep& step, const StepCell& cell) {
  for (const StepBox& box : step.boxes) {
    const MatrixPlan& plan = box.view.plan;
    if (plan.stage != cell.matrix || !plan.shows(cell.cell.query, cell.cell.key)) continue;
    const glm::vec2 place(cell.cell.key - plan.first_column, cell.cell.query - plan.first_row);
    return chart::Rect{.origin = box.view.cells().origin + place * plan.cell, .size = plan.cell};
  }
  return std::nullopt;
}

/// Draws the field in which a number is typed, or the tooltip that says that it can be.
void draw_typed_cell(Frame& frame, HeadSubject subject, const PlacedStep& step, StepsMemory& memory) {
  if (memory.typed.where()) {
    const std::optional<chart::Rect> rect = rect_of(step, *memory.typed.where());
    if (rect) return memory.typed.draw(frame, *rect);
    memory.typed.close();  // scrolled away, or of another network
  }
  const std::optional<chart::Rect> rect = memory.pointed ? rect_of(step, *memory.pointed) : std::nullopt;
  if (!rect) return;
  const StepCell cell = in_its_head(subject, *memory.pointed);
  if (name_to_type(frame, subject, cell).empty()) return;
  ImGui::SetCursorScreenPos(to_imgui(rect->origin));
  ImGui::Dummy(to_imgui(rect->size));
  explain_last_item(frame, "A double click opens a field for another number.");
}

/// Returns the parts of matrices that a cell is made of.
std::vector<MatrixPart> sources_of_cell(const HeadSubject& subject, const std::optional<StepCell>& cell) {
  if (!cell || !cell->matrix.is_stage()) return {};
  std::vector<MatrixPart> sources = sources_of(subject.geometry, cell->matrix.stage(), cell->cell.query, cell->cell.key);
  // Parts of weights are counted in one head's columns.
  if (subject.has_all_heads) std::erase_if(sources, [](const MatrixPart& part) { return part.stage.is_weight(); });
  return sources;
}

/// Returns the row that is written out: the explained cell's, else the row of interest.
WrittenRow written_row(const Frame& frame, const BlockNode& node, const std::optional<StepCell>& cell) {
  if (cell && cell->matrix == StepMatrix(node.stage)) return {.stage = node.stage, .row = cell->cell.query};
  return {.stage = node.stage, .row = std::min(row_of_interest(frame, node.stage), std::max(node.rows, 1U) - 1)};
}

/// Draws all matrices small. Returns the flow as it was drawn; a click unfolds a matrix around the cell under the pointer.
BlockFlow draw_strip_of_all(Frame& frame, const HeadSubject& subject, const BlockPlan& plan,
                            std::span<const MatrixPart> parts, StepsMemory& memory) {
  const glm::vec2 at = cursor_position() + glm::vec2(kMargin, 6.0F);
  const glm::vec2 room = region_left();
  const glm::vec2 size(room.x - 2.0F * kMargin, room.y * kStripShare);
  BlockFlow flow{.plan = plan,
                 .layout = lay_out_strip(plan, {.origin = at, .size = size}),
                 .walk = memory.walk,
                 .name = "steps.small",
                 .opened = &unfolded_node(frame, plan, memory),
                 .parts = parts};
  if (const BlockNode* node =
          memory.explained && memory.explained->matrix.is_stage() ? plan.find(memory.explained->matrix.stage()) : nullptr) {
    flow.marked = {.node = node, .cell = memory.explained->cell};
  }
  frame.mark("steps.strip", {.origin = at, .size = {size.x, flow.layout.height}});
  const PointedCell pointed = draw_block_flow(frame, subject, flow, memory.hovered);
  if (pointed.node) {
    memory.pointed = {.matrix = pointed.node->stage, .cell = pointed.cell};
    if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) {
      memory.centered = memory.pointed;
      memory.aimed_stage.reset();
    }
    memory.is_in_strip = true;
  }
  ImGui::SetCursorScreenPos(at - glm::vec2(kMargin, 0.0F));
  ImGui::Dummy({size.x, flow.layout.height + 4.0F});
  return flow;
}

/// Scrolls the unfolded matrix so that the cell on which the strip was clicked is in its middle.
void center_clicked(const PlacedStep& step, StepsMemory& memory) {
  if (!memory.centered) return;
  for (const StepBox& box : step.boxes) {
    const MatrixPlan& plan = box.view.plan;
    if (plan.stage != memory.centered->matrix) continue;
    const auto first = [](std::uint32_t cell, std::uint32_t shown) { return cell < shown / 2 ? 0 : cell - shown / 2; };
    if (plan.is_shortened()) {
      memory.scrolls[plan.stage] = {.row = first(memory.centered->cell.query, plan.shown_rows),
                                    .column = first(memory.centered->cell.key, plan.shown_columns)};
    }
    memory.centered.reset();
    return;
  }
}

/// Returns how much of the width a step's one matrix takes; several share all of it.
float width_of_step(Frame& frame, const HeadSubject& subject, attention::Stage stage, glm::vec2 size,
                    const StepsMemory& memory) {
  const chart::Rect room{.origin = {kMargin, 0.0F}, .size = size - glm::vec2(2.0F * kMargin, 6.0F)};
  const std::vector<StepBox> boxes = lay_out_step(frame, subject, stage, memory.scrolls, room).boxes;
  return boxes.size() != 1 ? size.x : std::min(2.0F * kMargin + measure_matrix(frame, boxes.front().view).x, size.x);
}

/// Draws the unfolded matrix in a part of the region, and returns the cell to explain.
std::optional<StepCell> draw_unfolded_step(Frame& frame, const HeadSubject& subject, const BlockFlow& flow, glm::vec2 size,
                                           StepsMemory& memory) {
  const ImGuiWindowFlags wheel = memory.catches_wheel ? ImGuiWindowFlags_NoScrollWithMouse : 0;
  ImGui::BeginChild("unfolded", size, false, ImGuiWindowFlags_HorizontalScrollbar | wheel);
  const glm::vec2 origin = cursor_position();
  const chart::Rect room{.origin = origin + glm::vec2(kMargin, 2.0F), .size = size - glm::vec2(2.0F * kMargin, 6.0F)};
  const PlacedStep step = lay_out_step(frame, subject, flow.opened->stage, memory.scrolls, room);
  center_clicked(step, memory);
  std::optional<StepCell> cell =
      memory.pointed ? memory.pointed : cell_of_interest(frame, subject, step, flow.opened->stage, memory);
  const std::vector<MatrixPart> sources = sources_of_cell(subject, cell);
  const std::vector<MatrixPart> slices = subject.has_all_heads ? std::vector<MatrixPart>() : slices_of(subject.geometry);
  memory.catches_wheel = false;
  const bool scrolls_page = ImGui::GetScrollMaxY() > 0.0F;
  for (const StepBox& box : step.boxes) {
    const MatrixPlan& plan = box.view.plan;
    const StepMatrix matrix = plan.stage;
    MatrixMarks marks{.hovered = std::nullopt, .sources = sources, .slices = slices};
    if (cell && cell->matrix == matrix) marks.hovered = cell->cell;
    if (matrix == StepMatrix(flow.opened->stage)) marks.row = written_row(frame, *flow.opened, cell).row;
    draw_matrix(frame, box.view, marks, memory.values, subject);
    draw_arrow(frame, box);
    if (box.is_part) continue;
    draw_aim(frame, box);
    const bool takes_wheel = !scrolls_page || (memory.held && memory.held->matrix == matrix);
    memory.catches_wheel |= handle_matrix_scroll(frame, box.view, memory.scrolls[matrix], takes_wheel);
  }
  keep_drawn(frame, subject, flow, step, memory);
  draw_typed_cell(frame, subject, step, memory);
  ImGui::SetCursorScreenPos(origin);
  ImGui::Dummy(ImVec2(1.0F, step.height));
  ImGui::EndChild();
  return cell;
}

}  // namespace

void draw_steps_panel(Frame& frame, StepsMemory& memory) {
  if (!selected_shape(frame)) return;
  HeadSubject subject = selected_subject(frame);
  const BlockPlan plan = plan_block(subject.block, subject.layer, subject.geometry.shape);
  if (plan.nodes.empty()) return;
  follow_selection(frame, memory);
  const bool can_join = subject.geometry.shape.heads > 1 && !subject.geometry.shape.only_weights;
  subject.has_all_heads = can_join && frame.state[kStepsView.all_heads];
  walk_by_keys(frame, subject, plan, memory);
  draw_view_title(frame,
                  fmt::format("Layer {} \u00B7 head {}, step by step", subject.block.layer.value, subject.geometry.head));
  ImGui::SameLine(0.0F, 16.0F);
  if (can_join) {
    choose(frame, kStepsView.all_heads, {fmt::format("head {}", subject.geometry.head), "all heads"});
    ImGui::SameLine(0.0F, 16.0F);
  }
  const std::string keys = "Page \u2191 \u2193 walk \u00B7 a click unfolds", all = keys + " \u00B7 framed: its inputs";
  draw_title_note(frame, text_width(frame.ui.fonts().small, all) <= width_left() ? all : keys);
  place_sentence(frame, kBelowControls);
  memory.pointed.reset();
  memory.is_in_strip = false;
  const std::vector<MatrixPart> parts = sources_of_cell(subject, memory.explained);
  const BlockFlow flow = draw_strip_of_all(frame, subject, plan, parts, memory);
  draw_rich_text(frame, step_sentence(frame, subject, plan, *flow.opened), frame.ui.fonts().body, frame.ui.theme().text_dim);
  frame.mark("steps.sentence", last_item_rect());

  const glm::vec2 at = cursor_position(), room = region_left();
  const bool has_row = room.x >= (attention::is_map(flow.opened->stage) ? kMinMapRoom : kMinVectorRoom);
  const float least = has_row ? std::clamp(room.x * 0.34F, 250.0F, 420.0F) + kRowGap : 0.0F;
  memory.has_strip |= memory.explained.has_value();
  const float low = !memory.has_strip        ? kEmptyStrip
                    : memory.shows_all_terms ? std::max(room.y * 0.42F, kLowStrip)
                                             : kLowStrip;
  const float below = has_row ? 0.0F : low + ImGui::GetStyle().ItemSpacing.y;
  glm::vec2 size(room.x - least, std::max(room.y - below, 60.0F));
  if (has_row) size.x = width_of_step(frame, subject, flow.opened->stage, size, memory);
  const std::optional<StepCell> cell = draw_unfolded_step(frame, subject, flow, size, memory);
  if (cell != memory.explained) frame.ui.request_redraw(2);  // its parts are framed in the strip
  memory.explained = cell;
  const Aim& aim = frame.transient.aim;
  if (aim.hides(flow.opened->stage) || (cell && cell->matrix.is_stage() && aim.hides(cell->matrix.stage()))) return;
  if (!has_row) return draw_calculation(frame, subject, cell, low, memory);
  ImGui::SetCursorScreenPos(at + glm::vec2(size.x + kRowGap, 0.0F));
  begin_bare_region("row", {std::min(room.x - size.x - kRowGap, kWidestRow), room.y});
  const float calculation = !cell                    ? kEmptyStrip
                            : memory.shows_all_terms ? room.y * 0.6F
                                                     : std::clamp(room.y * 0.42F, 120.0F, 190.0F);
  draw_written_row(frame, subject, written_row(frame, *flow.opened, cell), room.y - calculation);
  ImGui::SetCursorPosY(room.y - calculation);
  draw_calculation(frame, subject, cell, calculation, memory);
  ImGui::EndChild();
}

bool fold_steps(State& state) { return !std::exchange(state.opened_matrix, {}).empty(); }

std::unique_ptr<ViewPanel> open_steps_view() {
  class StepsView final : public ViewPanel {
    void draw(Frame& frame) override {
      draw_steps_panel(frame, memory_);
      const Selection& selection = frame.state.selection;
      memory_.color_map = frame.state[kMapView.color_map];
      title_ = fmt::format("The steps of layer {}, head {}", selection.block.layer.value, selection.head);
    }
    std::unique_ptr<exporting::Drawing> figure() const override { return make_steps_figure(memory_, title_); }

    StepsMemory memory_;
    std::string title_;
  };
  return std::make_unique<StepsView>();
}

}  // namespace headlight::app
