#include "app/figures/view_figures.h"
#include "app/views/steps/steps_view.h"
#include "export/figures.h"

namespace headlight::app {
namespace {

/// Returns the part of a matrix that is shown; empty: all of it is.
std::string drawn_part(const StepsMemory::Drawn& drawn) {
  std::string part;
  const chart::Region& shown = drawn.shown;
  if (shown.rows < drawn.whole.rows) part = fmt::format("rows {} to {}", shown.row, shown.row + shown.rows - 1);
  if (shown.columns < drawn.whole.columns) {
    part += fmt::format("{}columns {} to {}", part.empty() ? "" : ", ", shown.column, shown.column + shown.columns - 1);
  }
  return part;
}

/// Returns the names of rows or columns: tokens, or indices without any.
std::vector<std::string> axis_names(const std::vector<std::string>* tokens, std::uint32_t first, std::uint32_t count) {
  std::vector<std::string> list;
  for (std::uint32_t i = first; i < first + count; ++i) {
    const bool is_token = tokens != nullptr && i < tokens->size();
    list.push_back(is_token ? (*tokens)[i] : std::to_string(i));
  }
  return list;
}

StepPanel panel_of(const StepsMemory& memory, const StepsMemory::Drawn& drawn) {
  StepPanel panel{.stage = drawn.stage,
                  .of = drawn.of,
                  .matrix_rows = drawn.whole.rows,
                  .matrix_columns = drawn.whole.columns,
                  .weight = drawn.weight,
                  .part = drawn_part(drawn),
                  .map = exporting::make_map(*drawn.tile)};
  const bool is_weight = !drawn.weight.empty(), is_map = !is_weight && attention::is_map(drawn.stage);
  const Selection& selection = memory.selection;
  const std::vector<std::string>*rows = nullptr, *columns = nullptr;
  if (memory.input && !is_weight) {
    const auto& keys = memory.input->keys(selection.block.kind);
    const auto& queries = memory.input->queries(selection.block.kind);
    rows = (attention::is_of_keys(drawn.stage) ? keys : queries).labels(selection.batch);
    if (is_map) columns = keys.labels(selection.batch);
  }
  panel.rows = {.title = is_weight ? "feature of X"
                         : is_map  ? "query"
                                   : "token",
                .tokens = axis_names(rows, drawn.shown.row, drawn.shown.rows)};
  panel.columns = {.title = is_map ? "key" : "feature",
                   .tokens = axis_names(columns, drawn.shown.column, drawn.shown.columns)};
  panel.style.color_map = memory.color_map;
  panel.style.scale = chart::ScaleKind::Maximum;
  if (drawn.reach > 0.0F) panel.style.limits = {.low = -drawn.reach, .high = drawn.reach};
  if (quantity(panel.of).colors == ColorKind::Diverging) panel.style = exporting::diverging(panel.style);
  return panel;
}

}  // namespace

std::unique_ptr<exporting::Drawing> make_steps_figure(const StepsMemory& memory, const std::string& title) {
  if (memory.drawn.empty()) return nullptr;
  std::vector<StepPanel> panels;
  for (const StepsMemory::Drawn& drawn : memory.drawn) panels.push_back(panel_of(memory, drawn));
  exporting::PanelsFigure page{.title = title, .subtitle = {}, .panels = {}, .style = {}};
  return exporting::make_drawing(steps_figure(std::move(panels), std::move(page)));
}

}  // namespace headlight::app
