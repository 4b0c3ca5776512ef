#pragma once

#include "app/analyses/head_metrics.h"
#include "app/shapes/table.h"
#include "app/state/state.h"

namespace headlight::app {

/// Heads by what they do: a column for each metric, of whose numbers can be asked where they come from. `found`: null while
/// nothing is measured; `baseline`: null where nothing is compared.
Table head_table(std::vector<HeadRef> heads, const HeadMetricsFound* found, const HeadMetricsFound* baseline,
                 const evaluation::PatternScoring& scoring, std::uint32_t batch = 0);

}  // namespace headlight::app
