#include "app/figures/figure_kind.h"
#include "app/figures/view_figures.h"
#include "app/shapes/quantities/stage_words.h"

namespace headlight::app {
namespace {

using attention::Stage;

constexpr float kStepSize = 300.0F;  // units: the longer side of each matrix, where no size is chosen
constexpr std::size_t kMaxInLine = 6;

/// The line of the calculation that a stage belongs to, as in the view of the same name; a weight is in the line of what it
/// makes.
std::size_t line_of(Stage stage) {
  constexpr std::array kLast = {Stage::X, Stage::V, Stage::Weights, Stage::Output, Stage::FfnInput};
  return static_cast<std::size_t>(std::ranges::find_if(kLast, [&](Stage last) { return stage <= last; }) - kLast.begin());
}

constexpr std::uint32_t kStepEdge = 256;

std::string refuse_steps(const ExportBlocks& blocks) {
  return blocks.shape.extent(Stage::Scores) || blocks.shape.extent(Stage::V) ? "" : "only weights are captured";
}

MatrixRef step_matrix(const FigureSubject& subject, Stage stage) {
  const ExportBlocks& blocks = subject.blocks;
  const std::uint32_t head = blocks.shape.matrix_of(stage, subject.matrix.head);
  return {.block = subject.matrix.block, .batch = subject.matrix.batch, .head = head, .stage = stage};
}

StepPanel step_panel(const FigureSubject& subject, const MatrixRef& matrix, exporting::FigureMap map) {
  const Stage stage = matrix.stage;
  const ExportBlocks& blocks = subject.blocks;
  FigureAxes axes = figure_axes(subject.input(), blocks, matrix, subject.options);
  StepPanel panel{.stage = stage, .of = quantity_of(blocks, stage), .matrix_rows = map.rows, .matrix_columns = map.columns};
  panel.map = std::move(map);
  panel.rows = std::move(axes.rows);
  panel.columns = std::move(axes.columns);
  panel.style = figure_style(blocks, stage, subject.options);
  return panel;
}

/// W_Q, W_K or W_V of the figure's head, before what it makes; nullopt: there is none, or it is wider than figures are.
std::optional<StepPanel> weight_panel(const FigureSubject& subject, Stage stage) {
  if (stage < Stage::Q || stage > Stage::V || subject.source.capture) return std::nullopt;
  const auto of = static_cast<attention::LayerWeight>(static_cast<std::size_t>(stage) - static_cast<std::size_t>(Stage::Q));
  const model::HeadWeight weight =
      attention::columns_of(subject.source.network->layer(subject.matrix.block), of, subject.matrix.head);
  if (weight.linear == nullptr || weight.linear->in() > kStepEdge || weight.count > kStepEdge) return std::nullopt;
  const std::uint32_t rows = weight.linear->in();
  attention::Tile tile;
  tile.request = {.stage = Stage::X, .rows = rows, .columns = weight.count, .pool = 1};
  tile.values = model::read_weight(*weight.linear, 0, rows, weight.first, weight.count);
  StepPanel panel{.stage = stage, .of = stage, .matrix_rows = rows, .matrix_columns = weight.count};
  panel.weight = fmt::format("W_{}", letter_of(of));
  panel.map = exporting::make_map(tile);
  panel.rows = {.title = "feature of X", .tokens = {}};
  panel.columns = {.title = "feature", .tokens = {}};
  panel.style = exporting::diverging(figure_style(subject.blocks, Stage::Q, subject.options));
  return panel;
}

DrawingTask draw_steps(const FigureSubject& subject, FigureNumbers& numbers) {
  const ExportBlocks& blocks = subject.blocks;
  std::vector<MatrixRef> matrices;
  double cells = 0.0;
  for (std::size_t i = 0; i < attention::kStages; ++i) {
    const auto stage = static_cast<Stage>(i);
    if (!blocks.shape.extent(stage)) continue;
    matrices.push_back(step_matrix(subject, stage));
    cells += figure_cells(blocks, stage);
  }
  numbers.expected = cells;
  std::vector<StepPanel> panels;
  std::vector<exporting::FigureMap> maps =
      co_await read_maps(numbers, blocks, matrices, numbers.edge(kStepEdge, attention::kStages), {});
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    if (std::optional<StepPanel> weight = weight_panel(subject, matrices[i].stage)) panels.push_back(std::move(*weight));
    panels.push_back(step_panel(subject, matrices[i], std::move(maps[i])));
  }
  exporting::PanelsFigure page;
  begin_figure(page, subject, kStepsFigure, fmt::format("The steps of {}", figure_place(blocks, subject.matrix, true)));
  co_return exporting::make_drawing(steps_figure(std::move(panels), std::move(page)));
}

}  // namespace

const FigureKind kStepsFigure{
    .id = "steps",
    .label = "Steps",
    .help = "the attention of a head, matrix by matrix from Q, K and V to the output",
    .scope = FigureScope::Head,
    .bytes = {.png = 410e3, .svg = 455e3, .pdf = 66e3, .png_token = 5.2e3, .svg_token = 2.2e3, .pdf_token = 1.8e3},
    .takes_differences = true,
    .takes_parts = true,
    .refusal = &refuse_steps,
    .draw = &draw_steps};

exporting::PanelsFigure steps_figure(std::vector<StepPanel> panels, exporting::PanelsFigure page) {
  const float chosen = page.style.map_edge / static_cast<float>(kMaxInLine);
  std::size_t line = kMaxInLine;  // none
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
