#include <set>

#include "app/analyses/head_metric_text.h"
#include "app/exports/figure_kind.h"
#include "app/exports/view_figures.h"

namespace headlight::app {
namespace {

using evaluation::HeadMetric;

constexpr std::size_t kMetricsAcross = 4;

/// What rows and columns are.
struct MetricAxes {
  std::vector<std::uint32_t> layers, heads;
};

/// The selected ones, or all that were measured.
MetricAxes axes_of(const MetricsFigure& figure) {
  std::set<std::uint32_t> layers(figure.layers.begin(), figure.layers.end()),
      heads(figure.heads.begin(), figure.heads.end());
  for (const auto& [head, metrics] : figure.found.heads) {
    if (figure.layers.empty()) layers.insert(head.block.layer.value);
    if (figure.heads.empty()) heads.insert(head.head);
  }
  return {.layers = {layers.begin(), layers.end()}, .heads = {heads.begin(), heads.end()}};
}

std::vector<std::string> names_of(const std::vector<std::uint32_t>& indices) {
  std::vector<std::string> names;
  for (const std::uint32_t index : indices) names.push_back(std::to_string(index));
  return names;
}

/// The metric, or by how much it changed; nullopt where it isn't defined.
std::optional<double> shown_value(const MetricsFigure& figure, const HeadRef& head, const evaluation::HeadMetrics& metrics,
                                  HeadMetric metric) {
  const std::optional<double> value = metrics.value(metric, figure.scoring);
  if (!figure.baseline) return value;
  const evaluation::HeadMetrics* before = figure.baseline->find(head);
  const std::optional<double> value_before = before ? before->value(metric, figure.scoring) : std::nullopt;
  return value && value_before ? std::optional(*value - *value_before) : std::nullopt;
}

/// A row for each layer; nullopt where no head has a value.
std::optional<exporting::FigureMap> map_of(const MetricsFigure& figure, const MetricAxes& axes, HeadMetric metric) {
  exporting::FigureMap map{.rows = static_cast<std::uint32_t>(axes.layers.size()),
                           .columns = static_cast<std::uint32_t>(axes.heads.size()),
                           .values = {},
                           .masked = {}};
  map.values.resize(axes.layers.size() * axes.heads.size());
  map.masked.resize(map.values.size(), 1);
  bool has_any = false;
  for (const auto& [head, metrics] : figure.found.heads) {
    const auto row = std::ranges::find(axes.layers, head.block.layer.value);
    const auto column = std::ranges::find(axes.heads, head.head);
    const std::optional<double> value = shown_value(figure, head, metrics, metric);
    if (!value || row == axes.layers.end() || column == axes.heads.end()) continue;
    const std::size_t at = static_cast<std::size_t>(row - axes.layers.begin()) * axes.heads.size() +
                           static_cast<std::size_t>(column - axes.heads.begin());
    map.values[at] = static_cast<float>(*value);
    map.masked[at] = 0;
    has_any = true;
  }
  return has_any ? std::optional(std::move(map)) : std::nullopt;
}

DrawingTask draw_metric_maps(const FigureSubject& subject, FigureNumbers& numbers) {
  const ExportBlocks& blocks = subject.blocks;
  const std::size_t heads = std::size_t{blocks.all_layers} * blocks.shape.heads;
  numbers.expected = static_cast<double>(blocks.shape.queries) * blocks.shape.keys * static_cast<double>(heads);
  const AnalysisQuery query = HeadMetricsQuestion{.kind = blocks.kind, .batch = subject.matrix.batch};
  const auto result = co_await numbers.analysis(query);
  const auto* found = dynamic_cast<const HeadMetricsFound*>(result.get());
  if (found == nullptr) co_return nullptr;
  MetricsFigure figure{.found = *found, .scoring = subject.options.choice.heads.scoring};
  for (const model::BlockRef block : blocks.layers) figure.layers.push_back(block.layer.value);
  figure.heads = blocks.heads;
  begin_figure(figure, subject, kMetricsFigure,
               figure.title + (blocks.prefix.empty() ? "" : fmt::format(" \u00B7 {}", model::to_string(blocks.kind))));
  figure.subtitle += "; " + metrics_subtitle(*found);
  co_return exporting::make_drawing(draw_metrics(figure));
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

exporting::PanelsFigure draw_metrics(const MetricsFigure& figure) {
  exporting::PanelsFigure drawn{.title = figure.title,
                                .subtitle = figure.subtitle,
                                .panels = {},
                                .across = kMetricsAcross,
                                .style = figure.style,
                                .session = figure.session};
  const MetricAxes axes = axes_of(figure);
  for (std::size_t i = 0; i < evaluation::kHeadMetrics; ++i) {
    const auto metric = static_cast<HeadMetric>(i);
    std::optional<exporting::FigureMap> map = map_of(figure, axes, metric);
    if (!map) continue;
    const HeadMetricText& text = text_of(metric);
    exporting::HeatmapFigure& panel = drawn.panels.emplace_back();
    panel.title = metric_title(metric, figure.scoring);
    panel.map = std::move(*map);
    panel.rows = {.title = "layer", .tokens = names_of(axes.layers)};
    panel.columns = {.title = "head", .tokens = names_of(axes.heads)};
    panel.value_title = panel.title + (*text.unit == '\0' ? "" : fmt::format(",{}", text.unit));
    panel.masked_title = "not defined";
    panel.marks_empty_rows = false;
    panel.style = figure.style;
    panel.style.limits = {};
    panel.style.scale = text.is_share ? view::ScaleKind::Unit : view::ScaleKind::Maximum;
    if (figure.baseline) {
      panel.style = exporting::diverging(panel.style);
      panel.value_title = fmt::format("change of {}", panel.value_title);
    }
    panel.style.map_edge = figure.style.map_edge / static_cast<float>(kMetricsAcross);
    panel.style.parts.title = true;
    panel.style.parts.settings = false;
  }
  return drawn;
}

}  // namespace headlight::app
