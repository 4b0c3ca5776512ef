#include "app/exports/steps_panels.h"

namespace headlight::app {
namespace {

using attention::Stage;

constexpr float kStepSize = 300.0F;  // units: the longer side of each matrix, where no size is chosen
constexpr std::size_t kMostInLine = 6;

/// The line of the calculation that a stage belongs to, as in the view of the same name; a weight is in the line of what it
/// makes.
std::size_t line_of(Stage stage) {
  constexpr std::array kLast = {Stage::X, Stage::V, Stage::Weights, Stage::Output, Stage::FfnInput};
  return static_cast<std::size_t>(std::ranges::find_if(kLast, [&](Stage last) { return stage <= last; }) - kLast.begin());
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
    const bool is_weight = !step.weight.empty();
    panel.title = fmt::format("{}, {} × {}{}{}", is_weight ? step.weight : shown.figure_title, step.matrix_rows,
                              step.matrix_columns, step.part.empty() ? "" : ", ", step.part);
    panel.map = std::move(step.map);
    panel.rows = std::move(step.rows);
    panel.columns = std::move(step.columns);
    panel.value_title = is_weight ? "weight of the model" : shown.value_title;
    panel.marks_empty_rows = !is_weight && step.of == QuantityId(Stage::Weights);
    panel.style = step.style;
    panel.style.parts.title = true;
    panel.style.parts.settings = false;
    panel.style.map_edge = chosen > 0.0F ? chosen : kStepSize;
  }
  return page;
}

}  // namespace headlight::app
