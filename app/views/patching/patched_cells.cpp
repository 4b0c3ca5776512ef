#include "app/views/patching/patched_cells.h"

#include "app/engine/analyses/head_metric_text.h"
#include "app/widgets/cells/provenance.h"

namespace headlight::app {

std::string PatchedCells::label(std::size_t column) const {
  const std::vector<std::string>& tokens = is_weights() ? matrix.columns.tokens : words;
  return column < tokens.size() ? tokens[column] : std::to_string(column);
}

std::optional<double> PatchedCells::value(std::size_t row, std::size_t column) const {
  return effects->recovery_at(row, column, choices.measure);
}

model::BlockRef PatchedCells::block_of(std::size_t row) const {
  return is_weights() ? head.block : model::BlockRef{kind, LayerIndex{effects->layers[row]}};
}

attention::Cell PatchedCells::weight_at(std::size_t row, std::size_t column) const {
  return {.query = effects->first_query + static_cast<std::uint32_t>(row),
          .key = effects->first + static_cast<std::uint32_t>(column)};
}

HeadRef PatchedCells::head_at(const PatchCell& cell) const {
  return {.block = block_of(cell.row), .head = static_cast<std::uint32_t>(cell.column)};
}

std::string PatchedCells::place(std::size_t row, std::size_t column) const {
  if (is_heads()) return head_name(head_at({.row = row, .column = column}));
  if (is_weights()) {
    return fmt::format("\u201C{}\u201D {} \u2192 \u201C{}\u201D {}", matrix.rows.tokens[row], weight_at(row, column).query,
                       label(column), weight_at(row, column).key);
  }
  return fmt::format("L{} \u201C{}\u201D {}", effects->layers[row], label(column), effects->first + column);
}

std::string PatchedCells::about(std::size_t row, std::size_t column) const {
  const std::optional<PatchedNumbers>& numbers = effects->at(row, column);
  std::string where = is_weights() ? fmt::format("{}, {}", receiver, place(row, column))
                                   : fmt::format("Layer {}, head {}", block_of(row).layer.value, column);
  if (!is_heads() && !is_weights()) {
    where = fmt::format("Layer {}, token {} \u201C{}\u201D", effects->layers[row], effects->first + column, label(column));
  }
  return fmt::format("{}: {} {} patched, {} before. {}. {}", where, measured, measured_text(choices.measure, *numbers),
                     measured_text(choices.measure, effects->target),
                     recovery_text(choices, names, value(row, column).value_or(0.0)), click_hint(choices.map));
}

NumberRef PatchedCells::number_of(std::size_t row, std::size_t column) const {
  const PatchedNumbers& patched = *effects->at(row, column);
  const auto number = [&](const PatchedNumbers& of) { return fmt::format("{:.9g}", of.of(choices.measure)); };
  NumberRef asked{.of = std::string(is_paths() ? kPathRecovery : kPatchRecovery),
                  .block = block_of(row),
                  .batch = position.batch,
                  .head = is_heads() ? static_cast<std::uint32_t>(column) : head.head,
                  .row = position.token,
                  .column = token,
                  .value = value(row, column),
                  .notes = {{"measure", measured},
                            {"patched", number(patched)},
                            {"target", fmt::format("{}: {}", target_name(choices, names), number(effects->target))},
                            {"source", fmt::format("{}: {}", source_name(choices, names), number(effects->source))}}};
  const std::string what = is_paths()   ? fmt::format("what {} learn of the head's output", receiver)
                           : is_heads() ? fmt::format("{} of head {}", patched_thing(choices), column)
                                        : fmt::format("{} at {}", patched_thing(choices), place(row, column));
  asked.notes.emplace_back("changed", what);
  if (is_heads()) {
    const bool is_at_token = choices.at_token && choices.token;
    asked.notes.emplace_back("at", is_at_token ? fmt::format("token {}", *choices.token) : "all tokens");
  }
  return asked;
}

std::optional<PatchCell> PatchedCells::chosen_cell(const Frame& frame) const {
  if (is_weights()) {
    const std::optional<attention::Cell>& pinned = frame.state.view.pinned;
    if (!pinned || pinned->query < effects->first_query || pinned->key < effects->first) return std::nullopt;
    const PatchCell cell{.row = pinned->query - effects->first_query, .column = pinned->key - effects->first};
    return has_cell(cell) ? std::optional(cell) : std::nullopt;
  }
  const Selection& selection = frame.state.selection;
  const auto layer = std::ranges::find(effects->layers, selection.block.layer.value);
  const std::uint32_t chosen = choices.token.value_or(0);
  if (layer == effects->layers.end() || selection.block.kind != kind) return std::nullopt;
  if (!is_heads() && (!choices.token || chosen < effects->first)) return std::nullopt;
  const std::size_t column = is_heads() ? selection.head : chosen - effects->first;
  if (column >= effects->columns) return std::nullopt;
  return PatchCell{.row = static_cast<std::size_t>(layer - effects->layers.begin()), .column = column};
}

PatchCell PatchedCells::effect_at(GridCell cell) const {
  return is_weights() ? PatchCell{.row = cell.row, .column = cell.column}
                      : PatchCell{.row = cell.column, .column = cell.row};
}

std::string PatchedCells::kept_name(const PatchCell& cell) const {
  const std::string of = is_weights() ? receiver + ", " : "";
  return fmt::format("{} of {}, {}{}", patched_thing(choices), names.baseline, of, place(cell.row, cell.column));
}

}  // namespace headlight::app
