

#include "app/exports/figure_kind.h"
#include "app/exports/metrics_panels.h"

namespace headlight::app {
namespace {

std::unique_ptr<exporting::Drawing> draw_metric_maps(const FigureSubject& subject, FigureNumbers& numbers) {
  const ExportBlocks& blocks = subject.blocks;
  const std::size_t heads = std::size_t{blocks.all_layers} * blocks.shape.heads;
  numbers.expect(static_cast<double>(blocks.shape.queries) * blocks.shape.keys * static_cast<double>(heads));
  const auto result = numbers.analysis(HeadMetricsQuestion{.kind = blocks.kind, .batch = subject.matrix.batch});
  const auto* found = dynamic_cast<const HeadMetricsFound*>(result.get());
  if (found == nullptr || !found->is_complete()) return nullptr;
  MetricsFigure figure{.found = *found, .scoring = subject.options.choice.heads.scoring};
  for (const model::BlockRef block : blocks.layers) figure.layers.push_back(block.layer.value);
  figure.heads = blocks.heads;
  begin_figure(figure, subject, kMetricsFigure,
               figure.title + (blocks.prefix.empty() ? "" : fmt::format(" \u00B7 {}", model::to_string(blocks.kind))));
  figure.subtitle += "; " + metrics_subtitle(*found);
  return exporting::make_drawing(draw_metrics(figure));
}

}  // namespace

const FigureKind kMetricsFigure{.id = "metrics",
                                .label = "Metrics",
                                .help = "what every head does: a map of layers and heads for each metric",
                                .scope = FigureScope::Attention,
                                .bytes = {.png = 120e3, .svg = 80e3, .pdf = 22e3},
                                .draw = &draw_metric_maps};

}  // namespace headlight::app
