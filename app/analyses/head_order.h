#pragma once

#include "app/analyses/head_metrics.h"
#include "app/state/state.h"

namespace headlight::app {

/// Returns all heads of a kind, layer by layer.
std::vector<HeadRef> heads_of_kind(const BlockShapes& shapes, model::BlockKind kind);

/// Returns the heads of a kind that the choices show, in their order. Heads that aren't measured yet come last and pass no
/// filter by a metric; heads whose metric isn't defined come last as well. `found`: null while nothing is measured.
std::vector<HeadRef> listed_heads(const BlockShapes& shapes, model::BlockKind kind, const HeadChoices& choices,
                                  const HeadMetricsFound* found);
/// Filters and orders the given heads likewise.
std::vector<HeadRef> listed_heads(std::vector<HeadRef> heads, const HeadChoices& choices, const HeadMetricsFound* found);

/// Orders heads by a number, the largest first or last; heads without one come last in both orders.
void order_heads(std::vector<HeadRef>& heads, bool lowest_first,
                 const std::function<std::optional<double>(const HeadRef&)>& value);

/// Returns "L3 H1  prev 0.98": the head and the metric by which heads are ordered, else its strongest metric, where its
/// badge is shown.
std::string head_caption(const HeadRef& head, const evaluation::HeadMetrics* metrics, const HeadChoices& choices);

}  // namespace headlight::app
