#include "app/analyses/analysis_table.h"

#include <array>

#include "app/analyses/activation_patching.h"
#include "app/analyses/changed_cells.h"
#include "app/analyses/changed_heads.h"
#include "app/analyses/head_circuits.h"
#include "app/analyses/head_knockouts.h"
#include "app/analyses/head_metrics.h"
#include "app/analyses/head_ranking.h"
#include "app/analyses/head_similarity.h"
#include "app/analyses/head_verification.h"
#include "app/analyses/kept_activation.h"
#include "app/analyses/logit_attribution.h"
#include "app/analyses/path_patching.h"
#include "app/analyses/residual_sizes.h"
#include "app/analyses/run_sample.h"
#include "app/analyses/token_flow.h"

namespace headlight::app {
namespace {

constexpr std::array kAnalyses = {
    &kHeadMetricAnalysis, &kResidualSizes, &kLogitAttribution, &kLogitSources,   &kFlowRoutes,
    &kAttentionRollout,   &kAttentionFlow, &kRunSample,        &kChangedHeads,   &kHeadKnockouts,
    &kReferenceAblations, &kFromTo,        &kPatternRanking,   &kHeadSimilarity, &kActivationPatching,
    &kHeadCompositions,   &kOvCopying,     &kHeadVerification, &kKeptActivation, &kPathPatching,
    &kChangedCells,
};

}  // namespace

std::span<const Analysis* const> analyses() { return kAnalyses; }

}  // namespace headlight::app
