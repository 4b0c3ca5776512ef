#include "app/window/panels.h"

#include "app/shapes/quantities/tile_query.h"
#include "app/state/transient.h"
#include "app/widgets/thumbnail.h"
#include "export/csv.h"

namespace headlight::app {
namespace {

/// A larger table would block the clipboard, and the program that it is pasted into, for seconds.
constexpr std::uint64_t kMaxCopied = std::uint64_t{1} << 20;

/// Returns the labels of some tokens, their indices where there are none.
std::vector<std::string> labels_of(const model::TokenBatch& tokens, std::uint32_t batch, std::uint32_t first,
                                   std::uint32_t count) {
  std::vector<std::string> labels;
  for (std::uint32_t token = first; token < first + count; ++token) labels.push_back(tokens.name(batch, token));
  return labels;
}

/// Returns the rectangle that is to be copied, of the shown map.
TileQuery wanted_tile(const Frame& frame, const chart::Region& cells, CopiedNumbers what) {
  const State& state = frame.state;
  TileQuery query{.quantity = shown_stage(state),
                  .block = state.selection.block,
                  .batch = state.selection.batch,
                  .head = state.selection.head,
                  .row = cells.row,
                  .rows = cells.rows,
                  .column = cells.column,
                  .columns = cells.columns};
  const std::uint32_t last_row = cells.row + cells.rows - 1, last_column = cells.column + cells.columns - 1;
  if (what == CopiedNumbers::Row) {
    query.row = std::min(chosen_token(state.view, MapSide::Query).value_or(0), last_row);
    query.rows = 1;
  } else if (what == CopiedNumbers::Column) {
    query.column = std::min(chosen_token(state.view, MapSide::Key).value_or(0), last_column);
    query.columns = 1;
  } else if (const std::optional<CellRange>& range = frame.transient.range;
             range && range->last.query <= last_row && range->last.key <= last_column) {
    query.row = range->first.query;
    query.rows = range->last.query - range->first.query + 1;
    query.column = range->first.key;
    query.columns = range->last.key - range->first.key + 1;
  }
  return shown_map(state.selection, frame.result.shapes, query, shows_norms(state));
}

}  // namespace

std::string to_table(std::span<const std::string> rows, std::span<const std::string> columns,
                     std::span<const float> values) {
  std::string table = "query";
  for (const std::string& column : columns) {
    table += '\t';
    table += exporting::tab_field(column);
  }
  table += '\n';
  for (std::size_t row = 0; row < rows.size(); ++row) {
    table += exporting::tab_field(rows[row]);
    for (std::size_t column = 0; column < columns.size(); ++column) {
      table += "\t" + exporting::table_number(values[row * columns.size() + column]);
    }
    table += '\n';
  }
  return table;
}

MapText map_text(Frame& frame, CopiedNumbers what) {
  const auto shape = frame.result.shapes.find(frame.state.selection.block);
  if (shape == frame.result.shapes.end() || !frame.result.input) return {.message = "Nothing is computed yet."};
  const TileQuery query = wanted_tile(frame, shown_cells(frame, frame.state.selection.block), what);
  const std::uint64_t count = std::uint64_t{query.rows} * query.columns;
  if (count > kMaxCopied) {
    return {.message = fmt::format("The map has {} numbers: drag over a part of it, or export it as CSV.", count)};
  }
  const EngineTile* known = frame.ask(query);
  if (!known || !frame.result.is_current(query)) return {.is_pending = true};
  const model::BlockKind kind = frame.state.selection.block.kind;
  const model::ModelInput& input = *frame.result.input;
  const std::uint32_t batch = frame.state.selection.batch;
  const std::vector<std::string> rows = labels_of(input.queries(kind), batch, query.row, query.rows);
  const std::vector<std::string> columns = labels_of(input.keys(kind), batch, query.column, query.columns);
  // A row is a list of its keys.
  MapText text{.table = what == CopiedNumbers::Row ? to_table(columns, rows, known->tile->values)
                                                   : to_table(rows, columns, known->tile->values),
               .message = fmt::format("{} × {} numbers are on the clipboard.", query.rows, query.columns)};
  if (what == CopiedNumbers::Row) text.table.replace(0, 5, "key");
  return text;
}

}  // namespace headlight::app
