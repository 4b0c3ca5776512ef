#pragma once

#include "app/widgets/head_list.h"

namespace headlight::app {

/// Draws the controls of the views of all heads, in as many lines as they need: which attention (in networks with several),
/// find a head, how patterns are scored, and which heads are shown. `name`: the view's id, before the controls' names:
/// "heads.find.0".
void draw_head_tools(Frame& frame, const char* name, const ShownMetrics& metrics);

/// Draws a list of metrics that opens, with `none` as its first entry. Returns whether another one was chosen.
bool choose_metric(Frame& frame, const std::string& name, const char* none, std::optional<evaluation::HeadMetric>& metric,
                   const char* explanation);

/// Draws the sentence about the head under the pointer, else about the selected one, and below it how much of the text is
/// measured; of all of it the head's metrics where the view doesn't show them otherwise, else what can be done.
void draw_head_sentence(Frame& frame, const char* name, const ShownMetrics& metrics, const std::optional<HeadRef>& hovered,
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
