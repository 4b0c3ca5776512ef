#pragma once

#include "app/engine/analyses/head_circuits.h"
#include "app/frame.h"
#include "app/shapes/table.h"

namespace headlight::app {

/// Compositions of all heads: heads along a line, layer after layer, and an arc from each that writes to each that reads it,
/// where the score is above State::heads.least_arc. The pointer names an arc; a click selects its later head, with Shift
/// its earlier one. Fills what is left of the region. Returns the arcs with their scores.
Table draw_composition_arcs(Frame& frame, const CompositionGraph& graph, attribution::Composition by);

}  // namespace headlight::app
