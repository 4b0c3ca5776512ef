#include "app/views/steps/steps_view.h"
#include "app/widgets/arithmetic_strip.h"
#include "app/widgets/cells/arithmetic.h"
#include "app/widgets/controls.h"
#include "app/widgets/origin_dialog.h"
#include "app/widgets/prediction_bars.h"
#include "app/widgets/tile_numbers.h"

namespace headlight::app {
namespace {

using attention::Stage;

/// Returns "query 2 “short” · key 5 “first”": whose row and column the cell is.
std::string tokens_of(Frame& frame, const StepCell& where, const BlockGeometry& geometry) {
  if (!frame.result.input) return {};
  if (where.matrix.is_weight()) {
    return fmt::format("row {} · column {}", where.cell.query, where.cell.key);
  }
  if (where.matrix == StepMatrix::Other::ExpertLoad) return fmt::format("expert {}", where.cell.key);
  const Selection& selection = frame.state.selection;
  const auto name = [&](const model::TokenBatch& tokens, const char* role, std::uint32_t index) {
    return fmt::format("{} {}{}", role, index, tokens.quoted(selection.batch, index));
  };
  const model::TokenBatch& queries = shown_queries(frame);
  const model::TokenBatch& keys = shown_keys(frame);
  if (where.matrix.is_map()) {
    return fmt::format("query {} \u201C{}\u201D · {}", where.cell.query, row_name(frame, where.cell.query),
                       name(keys, "key", where.cell.key));
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

/// Returns the cell's matrix as the origin dialog names it.
std::string_view origin_of(StepMatrix matrix) {
  if (matrix.is_stage()) return attention::to_string(matrix.stage());
  if (matrix == StepMatrix::Other::ExpertLoad) return kExpertLoad;
  return matrix.is_weight() ? kWeightNumbers.at(static_cast<std::size_t>(matrix.weight())) : kMemoryNumber;
}

}  // namespace

StepCell in_its_head(HeadSubject& subject, const StepCell& cell) {
  const inference::BlockShape& shape = subject.geometry.shape;
  const JoinedHeads joined = joined_heads(cell.matrix, shape);
  if (joined.heads == 0) return cell;
  subject.geometry.head = cell.cell.key / joined.width * (shape.heads / joined.heads);
  return {.matrix = joined.stage, .cell = {.query = cell.cell.query, .key = cell.cell.key % joined.width}};
}

void draw_calculation(Frame& frame, HeadSubject subject, const std::optional<StepCell>& cell, float height,
                      StepsMemory& memory) {
  if (!cell) return draw_arithmetic_strip(frame, {.height = height}, memory.shows_all_terms);
  const StepCell of_head = in_its_head(subject, *cell);
  const Arithmetic arithmetic = explain(frame, subject, of_head, memory);
  if (memory.pointed && !memory.is_in_strip && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) {
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
                         .height = height,
                         .number = number},
                        memory.shows_all_terms);
}

}  // namespace headlight::app
