#pragma once

#include <optional>
#include <string>

#include "app/analyses/head_metrics.h"
#include "app/frame.h"
#include "export/panels_figure.h"

namespace headlight::app {

/// What the figure of the metrics is made from.
struct MetricsFigure {
  HeadMetricsFound found;
  evaluation::PatternScoring scoring;
  std::string subtitle;
  std::string color_map;
  bool is_dark = false;
};

/// Of the selected kind of attention; none: nothing is measured yet.
std::optional<MetricsFigure> metrics_figure(const Frame& frame);

/// A map for each metric that some head has, with a row for each layer and a column for each head. A head without a value is
/// hatched.
exporting::PanelsFigure draw_metrics(const MetricsFigure& figure);

}  // namespace headlight::app
