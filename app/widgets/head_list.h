#pragma once

#include "app/analyses/head_metrics.h"
#include "app/analyses/head_order.h"
#include "app/frame.h"

namespace headlight::app {

/// The metrics of the heads of the selected kind of attention, in the selected line.
struct ShownMetrics {
  const HeadMetricsFound* found = nullptr;  ///< possibly of the previous run, or not of all heads yet; null: none yet
  std::string error = {};                   ///< why there are none
  bool is_current = false;                  ///< of the newest run, and of all heads

  const evaluation::HeadMetrics* of(const HeadRef& head) const { return found ? found->find(head) : nullptr; }
};
/// Asks for the metrics.
ShownMetrics ask_metrics(Frame& frame);

/// Returns "3 of 144 heads measured", "sampled: 512 of 8,192 queries, in strips at equal distances": what the numbers don't
/// cover yet; empty where they cover everything.
std::string coverage_text(const ShownMetrics& metrics);

/// Returns the head with the largest value, in patterns of the mean; none: the metric is defined for no head.
std::optional<HeadRef> best_head(const HeadMetricsFound& found, evaluation::HeadMetric metric);

/// Answers Transient::seeks_head: asks for the metrics, and when they are known selects the head and clears the question.
/// Returns what to show the user then: "L3H1 looks at the previous token: 0.98".
std::optional<std::string> seek_head(Frame& frame);

}  // namespace headlight::app
