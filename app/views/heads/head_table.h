#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/widgets/head_list.h"

namespace headlight::app {

/// The table of heads: a ring that pins, the name, and each metric as a number over a bar. A click on a title orders by that
/// column, another one turns the order round.
class HeadTable {
 public:
  /// Draws into what is left of the region. Returns the head under the pointer.
  std::optional<HeadRef> draw(Frame& frame, const std::vector<HeadRef>& heads, const ShownMetrics& metrics);
  /// The next draw() scrolls to the selected head if the keyboard has moved to it.
  void moved(bool by_keyboard) { reveals_ = reveals_ || by_keyboard; }

 private:
  bool reveals_ = false;
  std::optional<HeadRef> selected_;  ///< in the previous frame
};

/// The listed heads with all metrics, comma-separated, with a line of titles; empty where a metric isn't defined.
std::string head_table_csv(const std::vector<HeadRef>& heads, const HeadMetricsFound& found,
                           const evaluation::PatternScoring& scoring);

}  // namespace headlight::app
