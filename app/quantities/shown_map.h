#pragma once

#include <string_view>

#include "app/quantities/tile_query.h"
#include "app/state/state.h"

namespace headlight::app {

/// "none", "layer", "all".
std::string_view to_string(HeadMean mean);

/// What a selection shows of weights: the head's, or a mean over heads.
QuantityId weights_of(HeadMean mean);

/// Converts a query for the selected head to one for the selection: the head, or a mean of weights.
TileQuery shown_map(const Selection& selection, TileQuery query);

/// The stage on the big heatmap: a mean is always of weights.
attention::Stage shown_stage(const State& state);

}  // namespace headlight::app
