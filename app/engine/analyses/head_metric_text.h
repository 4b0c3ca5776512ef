#pragma once

#include "app/shapes/sentence.h"
#include "app/state/state.h"
#include "app/state/transient.h"
#include "evaluation/head_meter.h"

namespace headlight::app {

/// A metric in words.
struct HeadMetricText {
  const char* badge;     ///< on a thumbnail: "prev"; empty: it has none
  const char* word;      ///< in a list of heads: "previous token"
  const char* sentence;  ///< what a head with a high value does: "looks at the previous token"
  const char* help;      ///< the definition, one sentence or two
  const char* unit;      ///< after the number; empty: it has none
  bool is_share;         ///< from 0 to 1, so that bars of all heads have one scale
};
/// The value from which on a metric with a badge is true of a head: most of the attention goes there.
inline constexpr double kClearScore = 0.5;
/// NumberRef::of for a metric of a head; the reference's column is an evaluation::HeadMetric.
inline constexpr std::string_view kHeadMetricNumber = "head-metric";

const HeadMetricText& text_of(evaluation::HeadMetric metric);

/// Returns "L1 H4".
std::string head_name(const HeadRef& head);

/// Returns "0.98"; "–" where the metric isn't defined.
std::string metric_number(evaluation::HeadMetric metric, std::optional<double> value);

/// Returns the title of its column: evaluation::metric_name(), with the name of a score of patterns that isn't the mean.
std::string metric_title(evaluation::HeadMetric metric, const evaluation::PatternScoring& scoring);

/// Has the metric a badge, and does the head do what it says?
bool is_clear(evaluation::HeadMetric metric, const evaluation::HeadMetrics& metrics);
/// Returns the metric that describes a head best: of the clear patterns the one with the highest mean, else sink, else
/// evenness, else concentration between two texts, where it doesn't come from rows of few keys. None: no metric is clear, or
/// no query sees two keys. Badges and sentences use the mean, whatever the table of heads shows.
std::optional<evaluation::HeadMetric> strongest_metric(const evaluation::HeadMetrics& metrics);

/// Returns "prev 0.98"; empty where nothing is clear, and for attention that is spread evenly.
std::string badge_text(const evaluation::HeadMetrics& metrics);

/// The word of a list for a head that does nothing clear.
inline constexpr std::string_view kNoWord = "\u2013";
/// Returns what the head does in a word of a list: "previous token", kNoWord.
std::string_view head_word(const evaluation::HeadMetrics& metrics, bool is_trained = true);

/// Returns "L3 H1 looks at the previous token: 0.98", or its largest numbers where nothing is clear, or its weights are
/// random.
Sentence head_sentence(const HeadRef& head, const evaluation::HeadMetrics& metrics, bool is_trained = true);

/// Return the reference by which the provenance of a metric's numbers can be shown: without head and value; or for one head,
/// nullopt where the metric isn't defined.
NumberRef metric_origin(std::uint32_t batch, evaluation::HeadMetric metric, const evaluation::PatternScoring& scoring);
std::optional<NumberRef> number_of(const HeadRef& head, std::uint32_t batch, evaluation::HeadMetric metric,
                                   const evaluation::HeadMetrics& metrics, const evaluation::PatternScoring& scoring);

/// Returns "previous 0.98 · sink 0.11 · …": all metrics that are defined.
std::string metrics_text(const evaluation::HeadMetrics& metrics, const evaluation::PatternScoring& scoring);

}  // namespace headlight::app
