#pragma once

#include "app/quantities/tile_query.h"
#include "app/state/state.h"

namespace headlight::app {

/// Returns "none", "layer", "all".
std::string_view to_string(HeadMean mean);

/// Returns what a selection shows of weights: the head's, or a mean over heads; themselves, or as the norms of what they
/// add.
QuantityId weights_of(HeadMean mean, bool as_norms = false);

/// Converts a query for the selected head to one for the selection: the head, or a mean of weights. A mean over all layers
/// is asked of the first layer of its kind in `shapes`, whichever layer is selected.
TileQuery shown_map(const Selection& selection, const BlockShapes& shapes, TileQuery query, bool as_norms = false);

/// Returns the stage on the big heatmap: a mean is always of weights.
attention::Stage shown_stage(const State& state);

/// Does the big heatmap show weights as norms?
bool shows_norms(const State& state);

}  // namespace headlight::app
