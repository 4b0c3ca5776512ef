#include "app/views/heads/metrics_figure.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "app/widgets/head_metric_text.h"
#include "view/color_map.h"

namespace headlight::app {
namespace {

using evaluation::HeadMetric;

constexpr std::size_t kAcross = 3;

/// A row for each layer; nullopt where no head has a value.
std::optional<exporting::FigureMap> map_of(const MetricsFigure& figure, HeadMetric metric) {
  std::uint32_t layers = 0, heads = 0;
  for (const auto& [head, metrics] : figure.found.heads) {
    layers = std::max(layers, head.block.layer.value + 1);
    heads = std::max(heads, head.head + 1);
  }
  exporting::FigureMap map{.rows = layers, .columns = heads, .values = {}, .masked = {}};
  map.values.resize(std::size_t{layers} * heads);
  map.masked.resize(map.values.size(), 1);
  bool has_any = false;
  for (const auto& [head, metrics] : figure.found.heads) {
    const std::optional<double> value = metrics.value(metric, figure.scoring);
    if (!value) continue;
    const std::size_t at = std::size_t{head.block.layer.value} * heads + head.head;
    map.values[at] = static_cast<float>(*value);
    map.masked[at] = 0;
    has_any = true;
  }
  return has_any ? std::optional(std::move(map)) : std::nullopt;
}

}  // namespace

std::optional<MetricsFigure> metrics_figure(const Frame& frame) {
  const Selection& selection = frame.state.selection;
  const Analysed* answer = frame.result.analysed(
      {.analysis = &kHeadMetricAnalysis, .block = {.kind = selection.block.kind, .layer = {}}, .batch = selection.batch});
  const HeadMetricsFound* found = answer ? answer->as<HeadMetricsFound>() : nullptr;
  if (!found || found->heads.empty()) return std::nullopt;
  std::string subtitle = fmt::format("{} attention, {} queries", model::to_string(selection.block.kind), found->queries);
  if (found->measured_queries < found->queries) subtitle += fmt::format(", {} of them measured", found->measured_queries);
  return MetricsFigure{.found = *found,
                       .scoring = frame.state.heads.scoring,
                       .subtitle = std::move(subtitle),
                       .color_map = frame.state.view.color_map,
                       .is_dark = frame.state.view.theme != Theme::Light};
}

exporting::PanelsFigure draw_metrics(const MetricsFigure& figure) {
  exporting::PanelsFigure drawn{.title = "Heads by what they do",
                                .subtitle = figure.subtitle,
                                .panels = {},
                                .across = kAcross,
                                .is_dark = figure.is_dark};
  for (std::size_t i = 0; i < evaluation::kHeadMetrics; ++i) {
    const auto metric = static_cast<HeadMetric>(i);
    std::optional<exporting::FigureMap> map = map_of(figure, metric);
    if (!map) continue;
    const HeadMetricText& text = text_of(metric);
    exporting::HeatmapFigure& panel = drawn.panels.emplace_back();
    panel.title = text.title;
    panel.map = std::move(*map);
    panel.rows.title = "layer";
    panel.columns.title = "head";
    panel.value_title = *text.unit == '\0' ? text.title : fmt::format("{},{}", text.title, text.unit);
    panel.masked_title = "not defined";
    panel.marks_empty_rows = false;
    if (const auto map_name = view::parse_color_map(figure.color_map)) panel.style.color_map = *map_name;
    panel.style.scale = text.is_share ? view::ScaleKind::Unit : view::ScaleKind::Maximum;
    panel.style.parts.settings = false;
  }
  return drawn;
}

}  // namespace headlight::app
