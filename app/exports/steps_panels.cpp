#include "app/exports/steps_panels.h"

#include <utility>

#include <fmt/format.h>

namespace headlight::app {
namespace {

using attention::Stage;

constexpr float kStepSize = 300.0F;  // units: the longer side of each matrix, where no size is chosen
constexpr std::size_t kMostInLine = 6;

/// The line of the calculation that a stage belongs to, as the view of the same name has it.
std::size_t line_of(Stage stage) {
  if (stage <= Stage::V) return 0;
  if (attention::is_map(stage)) return 1;
  return stage <= Stage::Output ? 2 : stage <= Stage::FfnInput ? 3 : 4;
}

}  // namespace

exporting::PanelsFigure steps_figure(std::vector<StepPanel> panels, exporting::PanelsFigure page) {
  const float chosen = page.style.map_edge / static_cast<float>(kMostInLine);
  std::size_t line = kMostInLine;  // none
  for (StepPanel& step : panels) {
    if (page.rows.empty() || line_of(step.stage) != line) page.rows.push_back(0);
    line = line_of(step.stage);
    ++page.rows.back();
    const Quantity& shown = quantity(step.of);
    exporting::HeatmapFigure& panel = page.panels.emplace_back();
    panel.title = fmt::format("{}, {} × {}{}{}", shown.figure_title, step.matrix_rows, step.matrix_columns,
                              step.part.empty() ? "" : ", ", step.part);
    panel.map = std::move(step.map);
    panel.rows = std::move(step.rows);
    panel.columns = std::move(step.columns);
    panel.value_title = shown.value_title;
    panel.marks_empty_rows = step.of == QuantityId(Stage::Weights);
    panel.style = step.style;
    panel.style.parts.title = true;
    panel.style.parts.settings = false;
    panel.style.map_edge = chosen > 0.0F ? chosen : kStepSize;
  }
  return page;
}

}  // namespace headlight::app
