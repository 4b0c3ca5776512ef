#pragma once

#include "app/frame.h"
#include "attribution/flow_graph.h"

namespace headlight::app {

/// The shares that routes are followed from, in thousandths: the graph at any higher threshold is part of the same finding,
/// so that the slider needn't wait. Low ones reach more tokens, whose parts have to be computed.
inline constexpr std::array<std::uint32_t, 6> kLeastShares = {40, 20, 10, 5, 2, 1};
/// The highest of them that a threshold needs.
std::uint32_t least_share(float threshold);

/// Edges of attention that an automatic threshold leaves, where the graph has as many. With residual streams these are some
/// 50: enough to see where a prediction comes from, and few enough to point at one.
inline constexpr std::size_t kAutomaticEdges = 30;
std::size_t attention_edges(const std::vector<attribution::FlowEdge>& edges);

/// The largest threshold of two digits from `least` on at which `count`, the edges of attention that are left, is at least
/// kAutomaticEdges; `least` where there is none. `count` must not grow with the threshold.
float automatic_threshold(float least, const std::function<std::size_t(float threshold)>& count);

/// The slider; a double click makes the threshold automatic again. `in_force`: what the graph is drawn with while the
/// threshold is automatic; none: not known yet.
void draw_threshold_slider(Frame& frame, float width, std::optional<float>& threshold, std::optional<float> in_force);

}  // namespace headlight::app
