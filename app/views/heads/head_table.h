#pragma once

#include "app/widgets/head_list.h"

namespace headlight::app {

/// What the table shows: the run's metrics, and where differences are shown the baseline's.
struct ComparedMetrics {
  const ShownMetrics& now;
  const HeadMetricsFound* baseline = nullptr;  ///< of all heads; null: nothing is compared

  /// Of the run and of the baseline; none where it isn't known or not defined.
  std::pair<std::optional<double>, std::optional<double>> both(const HeadRef& head, evaluation::HeadMetric metric,
                                                               const evaluation::PatternScoring& scoring) const;
  /// Now less baseline; none where it isn't known and defined in both.
  std::optional<double> change(const HeadRef& head, evaluation::HeadMetric metric,
                               const evaluation::PatternScoring& scoring) const;
};

/// Where a baseline is compared with, the heads in the order of how much the metric that they are ordered by changed, in
/// either direction: the largest change first or last.
void sort_by_change(std::vector<HeadRef>& heads, const ComparedMetrics& metrics, const HeadChoices& choices);

/// The table of heads: a ring that pins, the name, and each metric as a number over a bar, or its change as a bar with both
/// numbers below. A click on a title orders by that column, another one turns the order round.
class HeadTable {
 public:
  /// Draws into what is left of the region. Returns the head under the pointer.
  std::optional<HeadRef> draw(Frame& frame, const std::vector<HeadRef>& heads, const ComparedMetrics& metrics);
  /// The next draw() scrolls to the selected head if the keyboard has moved to it.
  void moved(bool by_keyboard) { reveals_ = reveals_ || by_keyboard; }

 private:
  bool reveals_ = false;
  std::optional<HeadRef> selected_;  ///< in the previous frame
};

/// The listed heads with all metrics, comma-separated, with a line of titles; empty where a metric isn't defined. Where
/// there is a baseline its numbers and the changes stand beside them.
std::string head_table_csv(const std::vector<HeadRef>& heads, const ComparedMetrics& metrics,
                           const evaluation::PatternScoring& scoring);

}  // namespace headlight::app
