#include "panels/steps_panel.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "panels/arithmetic.h"
#include "panels/arithmetic_strip.h"
#include "panels/ink.h"
#include "panels/label_text.h"
#include "panels/mask_reason.h"
#include "panels/math_text.h"
#include "panels/shown_mask.h"
#include "panels/stage_text.h"
#include "panels/steps_flow.h"
#include "panels/thumbnail.h"
#include "panels/tile_numbers.h"

namespace headlight::app {
namespace {

using attention::Stage;

constexpr float kMargin = 4.0F;

/// A cell of one of the matrices.
struct StepCell {
  Stage stage = Stage::Weights;
  attention::Cell cell;
};

StepSubject selected_subject(const Frame& frame) {
  const Selection& selection = frame.state.selection;
  StepSubject subject{.block = selection.block, .layer = nullptr, .geometry = {}};
  subject.geometry.shape = frame.result.shapes.at(selection.block);
  subject.geometry.head = selection.head;
  subject.geometry.is_self = selection.block.kind != model::BlockKind::Cross;
  if (frame.result.network) {
    subject.layer = &frame.result.network->layer(selection.block);
    subject.geometry.merge = subject.layer->config.merge;
  }
  return subject;
}

/// The cell under the pointer, else the pinned cell's weight.
std::optional<StepCell> cell_of_interest(Frame& frame, const StepFlow& flow) {
  frame.transient.hovered.reset();
  if (ImGui::IsWindowHovered()) {
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    for (const StepSection& section : flow.sections) {
      for (const StepBox& box : section.boxes) {
        const auto cell = matrix_cell_at(box.view, mouse.x, mouse.y);
        if (!cell) continue;
        frame.transient.hovered = cell;
        frame.transient.hovered_stage = box.view.plan.stage;
        return StepCell{.stage = box.view.plan.stage, .cell = *cell};
      }
    }
  }
  if (!frame.state.view.pinned) return std::nullopt;
  return StepCell{.stage = Stage::Weights, .cell = *frame.state.view.pinned};
}

/// A right click on a map pins its cell, another one on the same cell unpins it: as on the big heatmap.
void pin_on_click(Frame& frame, const std::optional<StepCell>& cell) {
  if (!cell || !frame.transient.hovered || !attention::is_map(cell->stage)) return;
  if (!ImGui::IsMouseClicked(ImGuiMouseButton_Right)) return;
  std::optional<attention::Cell>& pinned = frame.state.view.pinned;
  if (pinned == cell->cell) {
    pinned.reset();
  } else {
    pinned = cell->cell;
  }
}

void draw_arrow(const Frame& frame, const StepBox& box) {
  if (box.operation.empty()) return;
  const shell::Theme& theme = frame.ui.theme();
  const shell::FontSet& fonts = frame.ui.fonts();
  ImDrawList* list = ImGui::GetWindowDrawList();
  const shell::UiRect cells = box.view.cells();
  const float y = std::round(cells.y + std::min(cells.height * 0.5F, 96.0F)) + 0.5F;
  const float left = box.arrow_x + 2.0F;
  const float right = box.arrow_x + kArrowWidth - 6.0F;
  list->AddLine(ImVec2(left, y), ImVec2(right - 5.0F, y), theme.text_dim, 1.5F);
  list->AddTriangleFilled(ImVec2(right - 7.0F, y - 4.5F), ImVec2(right - 7.0F, y + 4.5F), ImVec2(right, y), theme.text_dim);
  const ImVec2 size = measure_math(fonts, fonts.small, box.operation);
  draw_math(list, fonts, fonts.small, ImVec2(std::round((left + right - size.x) * 0.5F), y - size.y - 6.0F), theme.text,
            box.operation);
}

void draw_section_title(const Frame& frame, std::size_t number, const StepSection& section, float x) {
  const shell::Theme& theme = frame.ui.theme();
  ImFont* font = frame.ui.fonts().strong;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const std::string text = fmt::format("{}", number);
  const float width = text_width(font, text);
  const ImVec2 center(x + 10.0F, section.y + 12.0F);
  list->AddCircleFilled(center, 10.0F, theme.field, 32);
  list->AddText(font, font_size(font), ImVec2(std::round(center.x - width * 0.5F), section.y + 4.0F), theme.text_dim,
                text.c_str());
  list->AddText(font, font_size(font), ImVec2(x + 28.0F, section.y + 4.0F), theme.text, section.title.c_str());
}

MapCell map_cell(const Frame& frame, attention::Cell cell) {
  const Selection& selection = frame.state.selection;
  return {.layer = selection.block.layer.value,
          .batch = selection.batch,
          .head = selection.head,
          .cell = cell,
          .keys = key_range(frame, selection.block.kind)};
}

/// "query 2 “short” · key 5 “first”": whose row and column the cell is.
std::string tokens_of(const Frame& frame, const StepCell& where) {
  if (!frame.result.input) return {};
  const Selection& selection = frame.state.selection;
  const auto name = [&](const model::TokenBatch& tokens, const char* role, std::uint32_t index) {
    const bool is_known = selection.batch < tokens.texts.size() && index < tokens.texts[selection.batch].size();
    return fmt::format("{} {}{}", role, index, is_known ? fmt::format(" “{}”", tokens.texts[selection.batch][index]) : "");
  };
  const model::TokenBatch& queries = frame.result.input->queries(selection.block.kind);
  const model::TokenBatch& keys = frame.result.input->keys(selection.block.kind);
  if (attention::is_map(where.stage)) {
    return name(queries, "query", where.cell.query) + " · " + name(keys, "key", where.cell.key);
  }
  const bool rows_are_keys = where.stage == Stage::K || where.stage == Stage::V;
  return name(rows_are_keys ? keys : queries, rows_are_keys ? "key token" : "query token", where.cell.query);
}

Arithmetic explain(Frame& frame, const StepSubject& subject, const StepCell& where) {
  const Selection& selection = frame.state.selection;
  const ShownMask shown(frame);
  const attention::MaskSpec& mask = shown.spec();
  CellQuestion question{.geometry = subject.geometry,
                        .layer = subject.layer,
                        .kind = selection.block.kind,
                        .fill = mask.fill,
                        .mask_reason = {},
                        .stage = where.stage,
                        .row = where.cell.query,
                        .column = where.cell.key};
  if (attention::is_map(where.stage)) question.mask_reason = mask_reason(mask, map_cell(frame, where.cell));
  TileNumbers numbers(frame, selection.block, selection.batch, selection.head);
  return explain_cell(question, numbers);
}

std::optional<StepCell> draw_flow(Frame& frame, const StepSubject& subject) {
  ImGui::BeginChild("flow", ImVec2(0.0F, -kStripHeight - ImGui::GetStyle().ItemSpacing.y), false,
                    ImGuiWindowFlags_HorizontalScrollbar);
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x - 2.0F * kMargin;
  const StepFlow flow = lay_out_steps(frame, subject, origin.x + kMargin, origin.y + 10.0F, width);
  const std::optional<StepCell> cell = cell_of_interest(frame, flow);
  pin_on_click(frame, cell);

  std::vector<MatrixPart> sources;
  if (cell) sources = sources_of(subject.geometry, cell->stage, cell->cell.query, cell->cell.key);
  std::vector<MatrixPart> slices;
  if (subject.geometry.shape.heads > 1) slices = head_slices(subject.geometry);
  for (std::size_t i = 0; i < flow.sections.size(); ++i) {
    draw_section_title(frame, i + 1, flow.sections[i], origin.x + kMargin);
    for (const StepBox& box : flow.sections[i].boxes) {
      MatrixMarks marks{.hovered = std::nullopt, .sources = sources, .slices = slices};
      if (cell && cell->stage == box.view.plan.stage) marks.hovered = cell->cell;
      draw_matrix(frame, box.view, marks);
      draw_arrow(frame, box);
    }
  }
  ImGui::Dummy(ImVec2(1.0F, flow.height - origin.y));
  ImGui::EndChild();
  return cell;
}

}  // namespace

void draw_steps_panel(Frame& frame) {
  if (!frame.result.shapes.contains(frame.state.selection.block)) return;
  const StepSubject subject = selected_subject(frame);
  const std::optional<StepCell> cell = draw_flow(frame, subject);
  if (!cell) {
    draw_arithmetic_strip(frame, nullptr, Stage::Weights, {});
    return;
  }
  const Arithmetic arithmetic = explain(frame, subject, *cell);
  draw_arithmetic_strip(frame, &arithmetic, cell->stage, tokens_of(frame, *cell));
}

}  // namespace headlight::app
