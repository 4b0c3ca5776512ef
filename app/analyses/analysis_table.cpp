#include "app/analyses/analysis_table.h"

#include <array>

#include "app/analyses/block_states.h"
#include "app/analyses/head_metrics.h"
#include "app/analyses/residual_sizes.h"

namespace headlight::app {
namespace {

constexpr std::array kAnalyses = {
    &kBlockStates,
    &kHeadMetricAnalysis,
    &kResidualSizes,
};

}  // namespace

std::span<const Analysis* const> analyses() { return kAnalyses; }

}  // namespace headlight::app
