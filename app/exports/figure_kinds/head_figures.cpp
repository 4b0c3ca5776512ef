
#include "app/exports/figure_kind.h"

namespace headlight::app {
namespace {

std::unique_ptr<exporting::Drawing> draw_head(const FigureSubject& subject, FigureNumbers& numbers) {
  numbers.expect(figure_cells(subject.blocks, subject.matrix.stage));
  std::optional<exporting::FigureMap> map = read_map(numbers, subject.blocks, subject.matrix, numbers.edge(kFigureEdge, 1));
  if (!map) return nullptr;
  return exporting::make_drawing(
      matrix_figure(std::move(*map), subject.input, subject.blocks, subject.matrix, subject.options, subject.capture),
      subject.format);
}

std::unique_ptr<exporting::Drawing> draw_heads(const FigureSubject& subject, FigureNumbers& numbers) {
  std::optional<exporting::ContactSheet> sheet = heads_figure(numbers, subject.blocks, subject.matrix, subject.options);
  return sheet ? exporting::make_drawing(std::move(*sheet), subject.format) : nullptr;
}

}  // namespace

const FigureKind kHeadFigure{.id = "head",
                             .label = "Head",
                             .help = "the matrix of each head, large, for each of --stages",
                             .scope = FigureScope::Head,
                             .bytes = {.png = 145e3, .svg = 30e3, .pdf = 25e3},
                             .draws_values = true,
                             .is_of_stages = true,
                             .takes_means = true,
                             .takes_norms = true,
                             .takes_differences = true,
                             .takes_parts = true,
                             .draw = &draw_head};

const FigureKind kHeadsFigure{.id = "heads",
                              .label = "Heads",
                              .help = "all heads of a layer on a sheet, for each of --stages",
                              .scope = FigureScope::Layer,
                              .bytes = {.png = 50e3, .svg = 25e3, .pdf = 25e3, .png_token = 250.0, .pdf_token = 180.0},
                              .draws_values = true,
                              .is_of_stages = true,
                              .takes_means = true,
                              .takes_norms = true,
                              .takes_differences = true,
                              .takes_parts = true,
                              .draw = &draw_heads};

}  // namespace headlight::app
