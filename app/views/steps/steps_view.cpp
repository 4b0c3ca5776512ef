#include "app/views/steps/steps_view.h"

#include "app/shapes/quantities/stage_words.h"
#include "app/state/map_settings.h"
#include "app/views/steps/matrix_plan.h"
#include "app/views/steps/steps_flow.h"
#include "app/widgets/arithmetic_strip.h"
#include "app/widgets/cells/arithmetic.h"
#include "app/widgets/controls.h"
#include "app/widgets/origin_dialog.h"
#include "app/widgets/tile_numbers.h"
#include "export/figures.h"

namespace headlight::app {
namespace {

using attention::Stage;

constexpr float kMargin = 4.0F;

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

bool has_cell(const StepFlow& flow, const StepCell& cell) {
  const auto has_it = [&](const StepBox& box) {
    const MatrixPlan& plan = box.view.plan;
    return plan.stage == cell.matrix && cell.cell.query < plan.rows && cell.cell.key < plan.columns;
  };
  return std::ranges::any_of(flow.sections,
                             [&](const StepSection& section) { return std::ranges::any_of(section.boxes, has_it); });
}

/// Returns the cell under the pointer, else the held one, else the pinned cell's weight.
std::optional<StepCell> cell_of_interest(Frame& frame, const StepFlow& flow, StepsMemory& memory) {
  memory.pointed.reset();
  if (ImGui::IsWindowHovered() && !memory.typed.covers(pointer_position())) {
    for (const StepSection& section : flow.sections) {
      for (const StepBox& box : section.boxes) {
        const auto cell = matrix_cell_at(box.view, to_glm(ImGui::GetIO().MousePos));
        if (!cell) continue;
        const StepMatrix matrix = box.view.plan.stage;
        if (matrix.is_stage()) frame.point_at(*cell, matrix.stage());
        memory.pointed = {.matrix = matrix, .cell = *cell};
        hold_on_click(frame, memory, *memory.pointed);
        return memory.pointed;
      }
    }
  }
  if (memory.held && !has_cell(flow, *memory.held)) memory.held.reset();  // another network has other matrices
  if (memory.held) return memory.held;
  if (!frame.state.view.pinned) return std::nullopt;
  return StepCell{.matrix = Stage::Weights, .cell = *frame.state.view.pinned};
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

void draw_section_title(const Frame& frame, std::size_t number, const StepSection& section, float x) {
  const shell::Theme& theme = frame.ui.theme();
  ImFont* font = frame.ui.fonts().strong;
  const std::string text = fmt::format("{}", number);
  const float width = text_width(font, text);
  const ImVec2 center(x + 10.0F, section.y + 12.0F);
  ImGui::GetWindowDrawList()->AddCircleFilled(center, 10.0F, theme.field, 32);
  put_text(font, {std::round(center.x - width * 0.5F), section.y + 4.0F}, theme.text_dim, text);
  put_text(font, {x + 28.0F, section.y + 4.0F}, theme.text, section.title);
}

/// Returns "query 2 “short” · key 5 “first”": whose row and column the cell is.
std::string tokens_of(const Frame& frame, const StepCell& where, const BlockGeometry& geometry) {
  if (!frame.result.input) return {};
  if (where.matrix.is_weight()) {
    return fmt::format("row {} · column {}", where.cell.query, where.cell.key);
  }
  if (where.matrix == StepMatrix::Other::ExpertLoad) return fmt::format("expert {}", where.cell.key);
  const Selection& selection = frame.state.selection;
  const auto name = [&](const model::TokenBatch& tokens, const char* role, std::uint32_t index) {
    return fmt::format("{} {}{}", role, index, tokens.quoted(selection.batch, index));
  };
  const model::TokenBatch& queries = frame.result.input->queries(selection.block.kind);
  const model::TokenBatch& keys = frame.result.input->keys(selection.block.kind);
  if (where.matrix.is_map()) {
    return name(queries, "query", where.cell.query) + " · " + name(keys, "key", where.cell.key);
  }
  const bool rows_are_keys = where.matrix.has_key_rows();
  const char* role = geometry.is_self ? "token" : rows_are_keys ? "key token" : "query token";
  const std::string row = name(rows_are_keys ? keys : queries, role, where.cell.query);
  const bool is_of_experts = where.matrix.is_stage() && quantity(where.matrix.stage()).columns == Axis::Expert;
  return is_of_experts ? fmt::format("{} · expert {}", row, where.cell.key) : row;
}

/// Explains a number that is given: a weight, or one of the memory's.
Arithmetic explain_given(Frame& frame, const HeadSubject& subject, const StepCell& where, StepsMemory& memory) {
  const bool is_memory = where.matrix == StepMatrix::Other::Memory;
  Arithmetic arithmetic;
  arithmetic.cell = fmt::format("{}[{},{}]", step_symbol(where.matrix), where.cell.query, where.cell.key);
  arithmetic.note =
      where.matrix.is_weight() ? "A weight of the model: the same for every text."
      : where.matrix == StepMatrix::Other::ExpertLoad
          ? "How many of the text's tokens the router gives to this expert, as a share of all; the shares add up to the "
            "experts that each token gets."
      : is_memory ? "One number of the encoder's output, or of the second text's token vectors."
                  : "A part of the token's vector: rows of the model's tables, looked up by the token and its position.";
  const chart::Region window{.row = where.cell.query, .rows = 1, .column = where.cell.key, .columns = 1};
  if (is_memory) {
    const std::span<const float> row = memory_row(frame, where.cell.query);
    if (where.cell.key < row.size()) arithmetic.result = row[where.cell.key];
  } else if (const StepValues::Known* known = memory.cell.find(frame, where.matrix, subject, window)) {
    arithmetic.result = known->tile.values.front();
  }
  return arithmetic;
}

Arithmetic explain(Frame& frame, const HeadSubject& subject, const StepCell& where, StepsMemory& memory) {
  if (!where.matrix.is_stage()) return explain_given(frame, subject, where, memory);
  const Selection& selection = frame.state.selection;
  const CellQuestion question = question_about(frame, subject, where.matrix.stage(), where.cell);
  TileNumbers numbers(frame, selection.block, selection.batch, subject.geometry.head);
  if (where.matrix == Stage::Weights && subject.geometry.shape.only_weights) {
    Arithmetic saved;
    saved.cell = fmt::format("weights[{},{}]", where.cell.query, where.cell.key);
    saved.result = numbers.value(Stage::Weights, where.cell.query, where.cell.key);
    saved.note = "As it was saved: there are no queries and keys to compute it from.";
    return saved;
  }
  return explain_cell(question, numbers);
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

/// Returns the part of a matrix that is shown; empty: all of it is.
std::string drawn_part(const MatrixPlan& plan) {
  std::string part;
  if (plan.shown_rows < plan.rows) part = fmt::format("rows {} to {}", plan.first_row, plan.first_row + plan.shown_rows - 1);
  if (plan.shown_columns < plan.columns) {
    part += fmt::format("{}columns {} to {}", part.empty() ? "" : ", ", plan.first_column,
                        plan.first_column + plan.shown_columns - 1);
  }
  return part;
}

/// Returns the names of rows or columns in the figure: tokens, or indices without any.
std::vector<std::string> axis_names(const std::vector<std::string>* tokens, std::uint32_t first, std::uint32_t count) {
  std::vector<std::string> list;
  for (std::uint32_t i = first; i < first + count; ++i) {
    const bool is_token = tokens != nullptr && i < tokens->size();
    list.push_back(is_token ? (*tokens)[i] : std::to_string(i));
  }
  return list;
}

/// Keeps for the figure the matrices that are stages, and W_Q, W_K and W_V beside what they make, where their numbers are
/// known.
void keep_drawn(Frame& frame, const MatrixView& view, const HeadSubject& subject, StepsMemory& memory) {
  const MatrixPlan& plan = view.plan;
  StepsMemory::Drawn drawn{.panel = {.matrix_rows = plan.rows, .matrix_columns = plan.columns, .part = drawn_part(plan)},
                           .tile = nullptr};
  StepPanel& panel = drawn.panel;
  const std::vector<std::string>* keys = nullptr;
  if (plan.stage.is_stage()) {
    const TileQuery query = view.query(frame);
    const auto known = frame.result.tiles.find(query);
    if (known != frame.result.tiles.end()) drawn.tile = known->second.tile;
    panel.stage = plan.stage.stage();
    panel.of = query.quantity;
    const bool is_map = plan.stage.is_map();
    const Selection& selection = frame.state.selection;
    if (is_map) keys = frame.result.input->keys(selection.block.kind).labels(selection.batch);
    panel.rows.title = is_map ? "query" : "token";
    panel.columns.title = is_map ? "key" : "feature";
  }
  if (plan.stage.is_weight() && plan.stage.weight() <= attention::LayerWeight::Value) {
    const auto made = static_cast<Stage>(static_cast<std::size_t>(Stage::Q) + static_cast<std::size_t>(plan.stage.weight()));
    const StepValues::Known* known = memory.values.find(frame, plan.stage, subject, view.window());
    if (known != nullptr) drawn.tile = std::make_shared<const attention::Tile>(known->tile);
    panel.stage = made;
    panel.of = made;
    panel.weight = fmt::format("W_{}", letter_of(plan.stage.weight()));
    panel.rows.title = "feature of X";
    panel.columns.title = "feature";
  }
  if (!drawn.tile) return;
  panel.rows.tokens = axis_names(view.row_tokens, plan.first_row, plan.shown_rows);
  panel.columns.tokens = axis_names(keys, plan.first_column, plan.shown_columns);
  panel.style.color_map = frame.state[kMapView.color_map];
  panel.style.scale = chart::ScaleKind::Maximum;
  const TileQuery of{.quantity = panel.of, .block = subject.block, .batch = frame.state.selection.batch};
  if (const float reach = plan.stage.is_stage() ? shared_reach(frame, of) : 0.0F; reach > 0.0F)
    panel.style.limits = {.low = -reach, .high = reach};
  if (quantity(panel.of).colors == ColorKind::Diverging) panel.style = exporting::diverging(panel.style);
  memory.drawn.push_back(std::move(drawn));
}

/// Outlines the matrix that a lesson points at, and scrolls to its section when the card is opened.
void draw_aim(const Frame& frame, const StepSection& section, const StepBox& box) {
  const chart::Rect cells = box.view.cells();
  outline_rect(cells.origin - 4.0F, cells.end() + 4.0F, frame.ui.theme().accent, 3.0F, 2.0F);
  if (!frame.transient.aim.scrolls) return;
  const bool fits = cells.end().y - section.y < ImGui::GetWindowHeight() - 40.0F;
  ImGui::SetScrollFromPosY((fits ? section.y : box.view.origin.y) - 6.0F - ImGui::GetWindowPos().y, 0.0F);
  const float right = cells.end().x + 8.0F - ImGui::GetWindowPos().x;
  if (right > ImGui::GetWindowWidth()) ImGui::SetScrollFromPosX(right, 1.0F);
}

/// Returns a cell of a matrix of all heads as one of its head's, which the subject is then of; any other cell as it is.
StepCell in_its_head(HeadSubject& subject, const StepCell& cell) {
  const inference::BlockShape& shape = subject.geometry.shape;
  const JoinedHeads joined = joined_heads(cell.matrix, shape);
  if (joined.heads == 0) return cell;
  subject.geometry.head = cell.cell.key / joined.width * (shape.heads / joined.heads);
  return {.matrix = joined.stage, .cell = {.query = cell.cell.query, .key = cell.cell.key % joined.width}};
}

/// Returns where a cell is drawn; nullopt where it isn't.
std::optional<chart::Rect> rect_of(const StepFlow& flow, const StepCell& cell) {
  for (const StepSection& section : flow.sections) {
    for (const auto& [view, operation, arrow_x, is_part] : section.boxes) {
      const MatrixPlan& plan = view.plan;
      if (plan.stage != cell.matrix || !plan.shows(cell.cell.query, cell.cell.key)) continue;
      const glm::vec2 place(cell.cell.key - plan.first_column, cell.cell.query - plan.first_row);
      return chart::Rect{.origin = view.cells().origin + place * plan.cell, .size = plan.cell};
    }
  }
  return std::nullopt;
}

/// Draws the field in which a number is typed, or the tooltip that says that it can be.
void draw_typed_cell(Frame& frame, HeadSubject subject, const StepFlow& flow, StepsMemory& memory) {
  if (memory.typed.where()) {
    const std::optional<chart::Rect> rect = rect_of(flow, *memory.typed.where());
    if (rect) return memory.typed.draw(frame, *rect);
    memory.typed.close();  // scrolled away, or of another network
  }
  const std::optional<chart::Rect> rect = memory.pointed ? rect_of(flow, *memory.pointed) : std::nullopt;
  if (!rect) return;
  const StepCell cell = in_its_head(subject, *memory.pointed);
  if (name_to_type(frame, subject, cell).empty()) return;
  ImGui::SetCursorScreenPos(to_imgui(rect->origin));
  ImGui::Dummy(to_imgui(rect->size));
  explain_last_item(frame, "A double click opens a field for another number.");
}

std::optional<StepCell> draw_flow(Frame& frame, const HeadSubject& subject, StepsMemory& memory, float strip_height) {
  const ImGuiWindowFlags wheel = memory.catches_wheel ? ImGuiWindowFlags_NoScrollWithMouse : 0;
  ImGui::BeginChild("flow", ImVec2(0.0F, -strip_height - ImGui::GetStyle().ItemSpacing.y), false,
                    ImGuiWindowFlags_HorizontalScrollbar | wheel);
  const glm::vec2 origin = to_glm(ImGui::GetCursorScreenPos());
  const float width = ImGui::GetContentRegionAvail().x - 2.0F * kMargin;
  const StepFlow flow = lay_out_steps(frame, subject, memory.scrolls, origin + glm::vec2(kMargin, 10.0F), width);
  const std::optional<StepCell> cell = cell_of_interest(frame, flow, memory);

  std::vector<MatrixPart> sources;
  if (cell && cell->matrix.is_stage()) {
    sources = sources_of(subject.geometry, cell->matrix.stage(), cell->cell.query, cell->cell.key);
  }
  // Parts of weights are counted in one head's columns.
  if (subject.has_all_heads) std::erase_if(sources, [](const MatrixPart& part) { return part.stage.is_weight(); });
  const std::vector<MatrixPart> slices = subject.has_all_heads ? std::vector<MatrixPart>() : slices_of(subject.geometry);
  memory.catches_wheel = false;
  memory.drawn.clear();
  for (std::size_t i = 0; i < flow.sections.size(); ++i) {
    draw_section_title(frame, i + 1, flow.sections[i], origin.x + kMargin);
    for (const StepBox& box : flow.sections[i].boxes) {
      MatrixMarks marks{.hovered = std::nullopt, .sources = sources, .slices = slices};
      if (cell && cell->matrix == box.view.plan.stage) marks.hovered = cell->cell;
      draw_matrix(frame, box.view, marks, memory.values, subject);
      keep_drawn(frame, box.view, subject, memory);
      draw_arrow(frame, box);
      if (box.is_part) continue;
      if (step_name(box.view.plan.stage) == frame.transient.aim.matrix) draw_aim(frame, flow.sections[i], box);
      MatrixScroll scroll;
      const auto known = memory.scrolls.find(box.view.plan.stage);
      if (known != memory.scrolls.end()) scroll = known->second;
      const bool takes_wheel = memory.held && memory.held->matrix == box.view.plan.stage;  // the page scrolls otherwise
      memory.catches_wheel = handle_matrix_scroll(frame, box.view, scroll, takes_wheel) || memory.catches_wheel;
      if (scroll.row || scroll.column) memory.scrolls[box.view.plan.stage] = scroll;
    }
  }
  draw_typed_cell(frame, subject, flow, memory);
  ImGui::SetCursorScreenPos(origin);
  ImGui::Dummy(ImVec2(1.0F, flow.height - origin.y));
  ImGui::EndChild();
  return cell;
}

/// Returns the cell's matrix as the origin dialog names it.
std::string_view origin_of(StepMatrix matrix) {
  if (matrix.is_stage()) return attention::to_string(matrix.stage());
  if (matrix == StepMatrix::Other::ExpertLoad) return kExpertLoad;
  return matrix.is_weight() ? kWeightNumbers.at(static_cast<std::size_t>(matrix.weight())) : kMemoryNumber;
}

}  // namespace

void draw_steps_panel(Frame& frame, StepsMemory& memory) {
  if (!frame.result.shapes.contains(frame.state.selection.block)) return;
  follow_selection(frame, memory);
  HeadSubject subject = selected_subject(frame);
  const bool can_join = subject.geometry.shape.heads > 1 && !subject.geometry.shape.only_weights;
  subject.has_all_heads = can_join && frame.state[kStepsView.all_heads];
  draw_view_title(frame,
                  fmt::format("Layer {} \u00B7 head {}, step by step", subject.block.layer.value, subject.geometry.head));
  if (can_join) {
    ImGui::SameLine(0.0F, 16.0F);
    choose(frame, kStepsView.all_heads, {fmt::format("head {}", subject.geometry.head), "all heads"});
  }
  place_sentence(frame);
  const float strip =
      memory.shows_all_terms ? std::max(ImGui::GetContentRegionAvail().y * 0.42F, kStripHeight) : kStripHeight;
  const std::optional<StepCell> cell = draw_flow(frame, subject, memory, strip);
  if (!cell) {
    draw_arithmetic_strip(frame, {.height = strip}, memory.shows_all_terms);
    return;
  }
  const StepCell of_head = in_its_head(subject, *cell);
  const Arithmetic arithmetic = explain(frame, subject, of_head, memory);
  if (memory.pointed && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) {
    if (std::string name = name_to_type(frame, subject, of_head); !name.empty())
      memory.typed.open(std::move(name), *memory.pointed, arithmetic.result);
  }
  NumberRef number = number_of(frame, origin_of(of_head.matrix), of_head.cell, arithmetic.result);
  number.head = subject.geometry.head;
  frame.transient.pointed_number = number;
  draw_arithmetic_strip(frame,
                        {.arithmetic = &arithmetic,
                         .title = step_title(cell->matrix),
                         .color = step_color(cell->matrix, frame.ui.theme()),
                         .tokens = tokens_of(frame, *cell, subject.geometry),
                         .height = strip,
                         .number = number},
                        memory.shows_all_terms);
}

std::unique_ptr<ViewPanel> open_steps_view() {
  class StepsView final : public ViewPanel {
    void draw(Frame& frame) override {
      draw_steps_panel(frame, memory_);
      const Selection& selection = frame.state.selection;
      title_ = fmt::format("The steps of layer {}, head {}", selection.block.layer.value, selection.head);
    }
    std::unique_ptr<exporting::Drawing> figure() const override {
      if (memory_.drawn.empty()) return nullptr;
      std::vector<StepPanel> panels;
      for (const StepsMemory::Drawn& drawn : memory_.drawn) {
        panels.push_back(drawn.panel);
        panels.back().map = exporting::make_map(*drawn.tile);
      }
      exporting::PanelsFigure page{.title = title_, .subtitle = {}, .panels = {}, .style = {}};
      return exporting::make_drawing(steps_figure(std::move(panels), std::move(page)));
    }

    StepsMemory memory_;
    std::string title_;
  };
  return std::make_unique<StepsView>();
}

}  // namespace headlight::app
