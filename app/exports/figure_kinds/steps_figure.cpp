#include <array>
#include <utility>

#include <fmt/format.h>

#include "app/exports/figure_kind.h"
#include "app/exports/figure_record.h"
#include "app/exports/figures.h"
#include "export/panels_figure.h"

namespace headlight::app {
namespace {

using attention::Stage;

constexpr std::uint32_t kStepEdge = 256;
constexpr float kStepSize = 300.0F;  // units: the longer side of each matrix, where no size is chosen
/// The calculation line by line, as the view of the same name has it.
constexpr std::array<std::array<Stage, 4>, 2> kRowsOfFour = {
    {{Stage::X, Stage::Q, Stage::K, Stage::V}, {Stage::Scores, Stage::Scaled, Stage::Masked, Stage::Weights}}};
constexpr std::array kLastRow = {Stage::Heads, Stage::Merged, Stage::Output};

std::string refuse_steps(const ExportBlocks& blocks) {
  return blocks.shape.extent(Stage::Scores) ? "" : "only weights are captured";
}

/// Adds the matrices of a line of the calculation. Returns whether all of them are known.
template <std::size_t count>
bool add_row(const FigureSubject& subject, FigureNumbers& numbers, const std::array<Stage, count>& stages,
             exporting::PanelsFigure& figure) {
  const ExportBlocks& blocks = subject.blocks;
  std::size_t panels = 0;
  bool is_complete = true;
  for (const Stage stage : stages) {
    const auto extent = blocks.shape.extent(stage);
    if (!extent) continue;
    const std::uint32_t group = blocks.shape.kv_heads > 0 ? blocks.shape.heads / blocks.shape.kv_heads : 1;
    const bool is_of_keys = stage == Stage::K || stage == Stage::V;
    const std::uint32_t head = attention::is_per_head(stage) ? subject.matrix.head / (is_of_keys ? group : 1) : 0;
    const MatrixRef matrix{.block = subject.matrix.block, .batch = subject.matrix.batch, .head = head, .stage = stage};
    std::optional<exporting::FigureMap> map = read_map(numbers, blocks, matrix, numbers.edge(kStepEdge, attention::kStages));
    is_complete = is_complete && map.has_value();
    if (!map) continue;
    exporting::HeatmapFigure& panel =
        figure.panels.emplace_back(matrix_figure(std::move(*map), subject.input, blocks, matrix, subject.options));
    panel.title =
        fmt::format("{}, {} × {}", quantity(quantity_of(blocks, stage)).figure_title, panel.map.rows, panel.map.columns);
    panel.session.clear();
    panel.style.parts.title = true;
    panel.style.parts.settings = false;
    const float chosen = figure.style.map_edge / static_cast<float>(kRowsOfFour.front().size());
    panel.style.map_edge = chosen > 0.0F ? chosen : kStepSize;
    ++panels;
  }
  if (panels > 0) figure.rows.push_back(panels);
  return is_complete;
}

std::unique_ptr<exporting::Drawing> draw_steps(const FigureSubject& subject, FigureNumbers& numbers) {
  const ExportBlocks& blocks = subject.blocks;
  exporting::PanelsFigure figure;
  figure.title = subject.options.title;
  if (figure.title.empty()) figure.title = fmt::format("The steps of {}", figure_place(blocks, subject.matrix, true));
  figure.subtitle = settings_in_words(blocks, subject.options);
  figure.style = figure_style(blocks, Stage::Weights, subject.options);
  double cells = 0.0;
  for (std::size_t stage = 0; stage < attention::kStages; ++stage) {
    const auto one = static_cast<Stage>(stage);
    if (blocks.shape.extent(one)) cells += figure_cells(blocks, one);
  }
  numbers.expect(cells);
  bool is_complete = true;
  for (const auto& row : kRowsOfFour) is_complete = add_row(subject, numbers, row, figure) && is_complete;
  is_complete = add_row(subject, numbers, kLastRow, figure) && is_complete;
  if (!is_complete) return nullptr;
  figure.session = figure_session(subject.options, blocks, subject.matrix, kStepsFigure);
  return exporting::make_drawing(std::move(figure));
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

}  // namespace headlight::app
