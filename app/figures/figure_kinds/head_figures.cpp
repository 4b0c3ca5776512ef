#include "app/figures/figure_kind.h"

namespace headlight::app {
namespace {

DrawingTask draw_head(const FigureSubject& subject, FigureNumbers& numbers) {
  numbers.expected = figure_cells(subject.blocks, subject.matrix.stage);
  const std::vector<MatrixRef> matrix(1, subject.matrix);
  std::vector<exporting::FigureMap> maps =
      co_await read_maps(numbers, subject.blocks, matrix, numbers.edge(kFigureEdge, 1), {});
  co_return exporting::make_drawing(matrix_figure(std::move(maps.front()), subject.input(), subject.blocks, subject.matrix,
                                                  subject.options, subject.source.capture.get()),
                                    subject.format);
}

DrawingTask draw_heads(const FigureSubject& subject, FigureNumbers& numbers) {
  const MatrixRef& first = subject.matrix;
  exporting::ContactSheet sheet;
  begin_figure(sheet, subject, kHeadsFigure,
               fmt::format("{} · {}", quantity(quantity_of(subject.blocks, first.stage)).figure_title,
                           figure_place(subject.blocks, first, false)));
  std::vector<std::pair<MatrixRef, std::string>> maps;
  for (const std::uint32_t head : heads_of(subject.blocks, first.stage)) {
    maps.emplace_back(first, fmt::format("head {}", head));
    maps.back().first.head = head;
  }
  co_await add_panels(sheet, numbers, subject.blocks, maps, kPanelEdge);
  co_return exporting::make_drawing(std::move(sheet), subject.format);
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
