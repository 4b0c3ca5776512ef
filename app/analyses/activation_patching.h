#pragma once

#include <cstdint>
#include <optional>

#include "app/analyses/analysis.h"
#include "app/analyses/patch_effects.h"

namespace headlight::app {

/// Activation patching between the run and the one that it is compared with (Meng et al. 2022; Wang et al. 2022): for every
/// cell of a map one pass of the one in which the cell's activations are those of the other, and what that does to a
/// prediction. The two have the same shapes, so that tokens correspond by their numbers. A cell whose activations are the
/// same in both, bit by bit, needs no pass. The result is a PatchEffects, told layer by layer.
/// Heeds the query's `block.kind`, `batch`, `query` (the token whose prediction it is), `key` (0: heads are patched at all
/// tokens; else at token key − 1 alone), `tokens` (ids: a token, and the one whose logit is subtracted; the same: none is)
/// and `options`: a PatchMap, and whether the run's activations go into the other.
extern const Analysis kActivationPatching;

/// The question, whose unneeded members are 0.
AnalysisQuery patching_query(const PatchingChoices& choices, model::BlockKind kind, std::uint32_t batch,
                             std::uint32_t position, std::uint32_t token, std::optional<std::uint32_t> other);

}  // namespace headlight::app
