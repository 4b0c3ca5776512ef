#include "app/engine/analyses/head_table.h"
#include "app/figures/figure_kind.h"
#include "app/figures/view_figures.h"
#include "app/shapes/head_grid.h"

namespace headlight::app {
namespace {

DrawingTask draw_metric_maps(const FigureSubject& subject, FigureNumbers& numbers) {
  const ExportBlocks& blocks = subject.blocks;
  const std::size_t all = std::size_t{blocks.all_layers} * blocks.shape.heads;
  numbers.expected = static_cast<double>(blocks.shape.queries) * blocks.shape.keys * static_cast<double>(all);
  const AnalysisQuery query = HeadMetricsQuestion{.kind = blocks.kind, .batch = subject.matrix.batch};
  const auto result = co_await numbers.analysis(query);
  const auto* found = dynamic_cast<const HeadMetricsFound*>(result.get());
  if (found == nullptr) co_return nullptr;
  std::vector<HeadRef> heads = selected_heads(blocks);
  exporting::PanelsFigure page;
  begin_figure(
      page, subject, kMetricsFigure,
      "Heads by what they do" + (blocks.prefix.empty() ? "" : fmt::format(" \u00B7 {}", model::to_string(blocks.kind))));
  page.subtitle += "; " + metrics_subtitle(*found);
  const Table table = head_table(std::move(heads), found, nullptr, subject.options.choice.heads.scoring);
  co_return exporting::make_drawing(head_grid(table, all_rows(table), std::move(page)));
}

}  // namespace

const FigureKind kMetricsFigure{.id = "metrics",
                                .label = "Metrics",
                                .help = "what every head does: a map of layers and heads for each metric",
                                .scope = FigureScope::Attention,
                                .bytes = {.png = 120e3, .svg = 80e3, .pdf = 22e3},
                                .draw = &draw_metric_maps};

std::string metrics_subtitle(const HeadMetricsFound& found) {
  std::string subtitle = fmt::format("{} queries", found.queries);
  if (found.measured_queries < found.queries) subtitle += fmt::format(", {} of them measured", found.measured_queries);
  return subtitle;
}

}  // namespace headlight::app
