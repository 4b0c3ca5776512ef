#pragma once

#include "app/analyses/head_metrics.h"
#include "export/panels_figure.h"

namespace headlight::app {

/// What the figure of the metrics is made from.
struct MetricsFigure {
  const HeadMetricsFound& found;
  const HeadMetricsFound* baseline = nullptr;  ///< what is subtracted; null: nothing is
  evaluation::PatternScoring scoring = {};
  std::vector<std::uint32_t> layers = {}, heads = {};  ///< ascending; empty: all
  std::string title = "Heads by what they do", subtitle = {};
  exporting::FigureStyle style = {};
  std::string session = {};
};

/// "20 queries": and how many of them are measured, where it isn't all.
std::string metrics_subtitle(const HeadMetricsFound& found);

/// A map for each metric that some head has, with a row for each layer and a column for each head. A head without a value is
/// hatched. With a baseline each is the change since, in colours of differences.
exporting::PanelsFigure draw_metrics(const MetricsFigure& figure);

}  // namespace headlight::app
