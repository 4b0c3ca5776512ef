#include "app/widgets/origin_dialog.h"

#include "app/widgets/controls.h"
#include "app/widgets/tile_numbers.h"

namespace headlight::app {
namespace {

constexpr float kWidth = 640.0F;
constexpr float kNameColumn = 128.0F;

/// Returns the number as it is shown, or else as the engine's tile has it; empty while that is being computed.
std::string value_of(Frame& frame, const NumberRef& number) {
  if (number.value) return fmt::format("{:.9g}", *number.value);
  const std::optional<QuantityId> id = find_quantity(number.of);
  if (!id) return {};
  const Scope scope = quantity(*id).scope;
  TileQuery query{.quantity = *id,
                  .block = number.block,
                  .batch = number.batch,
                  .head = scope == Scope::Head ? number.head : 0,
                  .row = number.row,
                  .rows = 1,
                  .column = number.column,
                  .columns = 1,
                  .pool = number.pool,
                  .pooling = number.is_exact() ? attention::Pooling::Max : number.pooling,
                  .pooled_columns = number.pooled_columns};
  const std::vector<model::BlockRef> all = blocks_of_kind(frame.result.shapes, query.block.kind);
  if (scope == Scope::Kind && !all.empty()) query.block = all.front();
  const inference::BlockShape* shape = find_shape(frame.result, query.block);
  const auto extent = shape ? quantity(*id).shape(*shape) : std::nullopt;
  if (!extent || query.row >= extent->rows || query.column >= extent->columns) return {};
  query.rows = std::min(number.pool, extent->rows - query.row);
  query.columns = std::min(number.column_pool(), extent->columns - query.column);
  const EngineTile* known = frame.ask(query);
  return known && known->run == frame.result.run ? fmt::format("{:.9g}", known->tile->values.front()) : std::string();
}

void draw_origin_line(const Frame& frame, const Provenance::Line& line) {
  write_dim(frame, line.name);
  ImGui::SameLine(kNameColumn);
  write_wrapped(frame.ui.fonts().body, frame.ui.theme().text, line.text);
}

void draw_content(Frame& frame, const Provenance& provenance, const std::string& value, bool& is_open) {
  write_strong(frame, fmt::format("{} = {}", provenance.title, value.empty() ? "\u2026" : value));
  mark_last_item(frame, "origin.value");
  ImGui::Spacing();
  if (provenance.lines.empty()) {
    ImGui::TextWrapped("The run on screen has no such number any more: point at another one and press O.");
  }
  for (const Provenance::Line& line : provenance.lines) draw_origin_line(frame, line);
  ImGui::Spacing();
  if (draw_button(frame, "origin.copy", "Copy", "Copies the number and all lines as text.")) {
    ImGui::SetClipboardText(frame.ui.unshaped(write_provenance(provenance, value)).c_str());
  }
  ImGui::SameLine();
  if (draw_button(frame, "origin.close", "Close", "Closes this (Esc).")) is_open = false;
}

}  // namespace

void draw_origin_dialog(Frame& frame, OriginMemory& memory) {
  bool is_open = frame.transient.asked_number.has_value();
  if (!is_open) return;
  const NumberRef number = *frame.transient.asked_number;
  if (memory.number != number || memory.run != frame.result.run) {
    memory = {.number = number, .run = frame.result.run, .provenance = provenance_of(frame.result, number)};
    for (const Provenance::Line& line : memory.provenance.lines) frame.ui.ensure_glyphs(line.text);
  }
  const std::string value = value_of(frame, number);
  if (Dialog dialog(frame, "Where this number comes from", is_open, kWidth); dialog.is_visible()) {
    draw_content(frame, memory.provenance, value, is_open);
    if (!is_open) ImGui::CloseCurrentPopup();
  }
  if (!is_open) frame.transient.asked_number.reset();
}

NumberRef number_of(const Frame& frame, std::string_view of, attention::Cell cell, std::optional<float> value) {
  const Selection& selection = frame.state.selection;
  NumberRef number{.of = std::string(of),
                   .block = selection.block,
                   .batch = selection.batch,
                   .head = selection.head,
                   .row = cell.query,
                   .column = cell.key};
  if (value) number.value = double{*value};
  return number;
}

std::optional<NumberRef> number_at_cell(const Frame& frame) {
  const State& state = frame.state;
  const Selection& selection = state.selection;
  const std::optional<attention::Cell>& hovered = frame.transient.hovered;
  const std::optional<attention::Cell> cell = hovered ? hovered : state.view.pinned;
  const inference::BlockShape* shape = selected_shape(frame);
  if (!cell || !shape) return std::nullopt;
  const bool is_head_view = state.view.tab == kHeadView;
  const attention::Stage stage = is_head_view ? shown_stage(state)
                                 : hovered    ? frame.transient.hovered_stage
                                              : attention::Stage::Weights;
  const bool is_mean = is_head_view && stage == attention::Stage::Weights && selection.mean != HeadMean::None;
  QuantityId id = stage;
  if (is_mean || (is_head_view && shows_norms(state))) id = weights_of(selection.mean, shows_norms(state));
  if (is_head_view && head_map_shows_difference(frame)) id = difference_of(id);
  const auto extent = quantity(id).shape(*shape);
  if (!extent || cell->query >= extent->rows || cell->key >= extent->columns) return std::nullopt;
  return number_of(frame, quantity(id).id, *cell);
}

}  // namespace headlight::app
