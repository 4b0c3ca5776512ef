#pragma once

#include "app/state/setting.h"
#include "evaluation/head_metric.h"

namespace headlight::app {

/// Returns the values of a setting that is a metric of heads.
inline std::vector<Option> metric_options() {
  std::vector<Option> options;
  for (std::size_t i = 0; i < evaluation::kHeadMetrics; ++i)
    options.push_back({.name = evaluation::metric_name(static_cast<evaluation::HeadMetric>(i))});
  return options;
}

}  // namespace headlight::app
