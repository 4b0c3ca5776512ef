#pragma once

#include "app/engine/analyses/head_metrics.h"
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
/// Likewise, but for a long text, which takes seconds of the device: too much for what only stands beside a view.
ShownMetrics ask_cheap_metrics(Frame& frame);
/// Likewise, to say what heads do: of no very short text either, in which heads that attend to all keys alike pass the
/// threshold: of 5 tokens 0.46 of their attention is on the first, of 4 0.52.
ShownMetrics role_metrics(Frame& frame);

/// Were the weights on screen trained? Those of playgrounds and notebooks are random: no role is said of their heads.
bool are_trained(const State& state);

/// Returns "3 of 144 heads measured", "sampled: 512 of 8,192 queries, in strips at equal distances": what the numbers don't
/// cover yet; empty where they cover everything.
std::string coverage_text(const ShownMetrics& metrics);

/// Returns the head with the largest value, in patterns of the mean; none: the metric is defined for no head.
std::optional<HeadRef> best_head(const HeadMetricsFound& found, evaluation::HeadMetric metric);

/// Answers Transient::seeks_head: asks for the metrics, and when they are known selects the head and clears the question.
/// Returns what to show the user then: "L3H1 looks at the previous token: 0.98".
std::optional<std::string> seek_head(Frame& frame);

/// Draws the controls of the views of all heads, in as many lines as they need: which attention (in networks with several),
/// find a head, how patterns are scored, and which heads are shown. `name`: the view's id, before the controls' names:
/// "heads.find.0".
void draw_head_tools(Frame& frame, const char* name, const ShownMetrics& metrics);

/// Draws a list of metrics that opens, with `none` as its first entry. Returns whether another one was chosen.
bool choose_metric(Frame& frame, const std::string& name, const char* none, std::optional<evaluation::HeadMetric>& metric,
                   const char* explanation);

/// Says what the head under the pointer does, else the selected one. Draws how much of the text is measured; of all of it
/// the metrics of that head where the view doesn't show them otherwise, else what can be done.
void draw_head_note(Frame& frame, const char* name, const ShownMetrics& metrics, const std::optional<HeadRef>& hovered,
                    bool tells_metrics);

/// Writes in place of heads that they are being measured, why they can't be, or that a filter leaves none. Returns whether
/// there is something to list instead.
bool has_heads_to_show(Frame& frame, const char* name, const ShownMetrics& metrics, bool is_list_empty);

/// Handles keys of the views of all heads, while no dialog is open: Up, Down, Home and End move the selection through the
/// list, Enter shows the selected head, Space pins it. `columns`: heads on a line, by which Up and Down move; Left and Right
/// then move by one. Returns whether the selection moved.
bool move_through_heads(Frame& frame, const std::vector<HeadRef>& heads, std::size_t columns);

/// Shows a head in the view of one head.
void open_head(Frame& frame, const HeadRef& head);

}  // namespace headlight::app
