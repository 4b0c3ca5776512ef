#include "app/figures/figure_kind.h"
#include "app/shapes/quantities/tile_query.h"
#include "export/figures.h"

namespace headlight::app {
namespace {

std::string refuse_pair(const ExportBlocks& blocks) {
  return blocks.has_baseline ? "" : "there is no other run to compare with";
}

DrawingTask draw_pair(const FigureSubject& subject, FigureNumbers& numbers) {
  ExportBlocks blocks = subject.blocks;
  const QuantityId weights = weights_of(blocks.mean);
  exporting::PanelsFigure figure;
  figure.title = subject.options[kFigureLook.title];
  if (figure.title.empty()) figure.title = fmt::format("attention weights · {}", figure_place(blocks, subject.matrix, true));
  const BaselineRun* other = subject.options.baseline ? &*subject.options.baseline : nullptr;
  figure.session = figure_session(subject.options, blocks, subject.matrix, kPairFigure);
  blocks.is_difference = false;  // each side is a run of its own
  figure.subtitle = settings_in_words(blocks, subject.options);
  figure.style = figure_style(blocks, subject.matrix.stage, subject.options);
  numbers.expected = 2.0 * figure_cells(blocks, subject.matrix.stage);
  const std::vector<MatrixRef> matrices(2, subject.matrix);
  const std::vector<QuantityId> sides = {weights, baseline_of(weights)};
  std::vector<exporting::FigureMap> maps =
      co_await read_maps(numbers, blocks, matrices, numbers.edge(kFigureEdge, sides.size()), sides);
  for (std::size_t side = 0; side < 2; ++side) {
    const bool is_other = side == 1 && subject.baseline_input != nullptr;
    const model::ModelInput& input = is_other ? *subject.baseline_input : subject.input();
    exporting::HeatmapFigure& panel =
        figure.panels.emplace_back(matrix_figure(std::move(maps[side]), input, blocks, subject.matrix, subject.options,
                                                 is_other ? nullptr : subject.source.capture.get()));
    panel.title = side == 0 ? "this run" : other != nullptr ? other->name : "the other run";
    panel.session.clear();
    panel.style.parts.title = true;
    panel.style.parts.settings = false;
    panel.style.map_edge = figure.style.map_edge * 0.5F;
  }
  share_scale(figure.panels);
  co_return exporting::make_drawing(std::move(figure));
}

}  // namespace

const FigureKind kPairFigure{.id = "side_by_side",
                             .label = "Side by side",
                             .help = "a head in this run and in the one that it is compared with, on one scale",
                             .scope = FigureScope::Head,
                             .bytes = {.png = 220e3, .svg = 60e3, .pdf = 31e3},
                             .draws_values = true,
                             .takes_means = true,
                             .takes_differences = true,
                             .takes_parts = true,
                             .refusal = &refuse_pair,
                             .draw = &draw_pair};

}  // namespace headlight::app
