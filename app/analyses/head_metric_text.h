#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "app/state/number_ref.h"
#include "app/state/state.h"
#include "evaluation/head_meter.h"

namespace headlight::app {

/// A metric in words.
struct HeadMetricText {
  const char* title;     ///< of a column: "previous"
  const char* badge;     ///< on a thumbnail: "prev"
  const char* sentence;  ///< what a head with a high value does: "looks at the previous token"
  const char* help;      ///< the definition, one sentence or two
  const char* unit;      ///< behind the number; empty: it has none
  /// The value from which on the sentence is true of a head and its thumbnail has a badge; none: it is never said.
  std::optional<double> threshold;
  bool is_share;  ///< from 0 to 1, so that bars of all heads have one scale
};
/// What a NumberRef calls a metric; its column is an evaluation::HeadMetric.
inline constexpr std::string_view kHeadMetricNumber = "head-metric";

const HeadMetricText& text_of(evaluation::HeadMetric metric);

/// "L1 H4".
std::string head_name(const HeadRef& head);

/// "0.98"; "–" where the metric isn't defined.
std::string metric_number(evaluation::HeadMetric metric, std::optional<double> value);

/// The metric that says most of a head: the one whose value is farthest above its threshold. None: no threshold is passed,
/// or no query sees two keys.
std::optional<evaluation::HeadMetric> strongest_metric(const evaluation::HeadMetrics& metrics,
                                                       const evaluation::PatternScoring& scoring);

/// "prev 0.98"; empty where no threshold is passed, and for attention that is spread evenly.
std::string badge_text(const evaluation::HeadMetrics& metrics, const evaluation::PatternScoring& scoring);

/// "L3H1 looks at the previous token: 0.98", or what it does most where no threshold is passed.
std::string head_sentence(const HeadRef& head, const evaluation::HeadMetrics& metrics,
                          const evaluation::PatternScoring& scoring);

/// Where the metric's number comes from can be asked of this; nullopt where it isn't defined.
std::optional<NumberRef> number_of(const HeadRef& head, std::uint32_t batch, evaluation::HeadMetric metric,
                                   const evaluation::HeadMetrics& metrics, const evaluation::PatternScoring& scoring);

/// "previous 0.98 · duplicate – · …": all metrics.
std::string metrics_text(const evaluation::HeadMetrics& metrics, const evaluation::PatternScoring& scoring);

}  // namespace headlight::app
