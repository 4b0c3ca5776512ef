#pragma once

#include "app/engine/analyses/head_metrics.h"
#include "app/shapes/table.h"
#include "app/state/state.h"

namespace headlight::app {

/// Returns the table of heads by what they do: a column for each metric, whose numbers have a provenance. `found`: null
/// while nothing is measured; `baseline`: null where nothing is compared. `is_trained`: the weights aren't random.
Table head_table(std::vector<HeadRef> heads, const HeadMetricsFound* found, const HeadMetricsFound* baseline,
                 const evaluation::PatternScoring& scoring, std::uint32_t batch = 0, bool is_trained = true);

}  // namespace headlight::app
