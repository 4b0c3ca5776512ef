#pragma once

#include "app/analyses/analysis.h"

namespace headlight::app {

/// Activations that the user keeps as a change of the present run: those of the run that it is compared with, at one place
/// of the patching view (Replace); or a steering vector (Add; "activation addition", Turner et al. 2023): the residual
/// stream before a layer in the baseline less that in the present one, their mean over the line's tokens or of the last
/// one alone; or the baseline's mean over these tokens for each of them (Replace; mean ablation over a reference text).
/// Heeds the query's `block`, `batch`, `head`, `query` (the first token), `key` (how many) and `options`: a PatchMap, and
/// what is kept (0 the activations, 1 a steering vector, 2 their mean).
extern const Analysis kKeptActivation;

struct KeptActivation final : AnalysisResult {
  inference::Intervention intervention;
};

/// The question; tokens [first, first + count). Of a steering vector the mean over these is taken.
AnalysisQuery keeping_query(PatchMap map, model::BlockRef block, std::uint32_t batch, std::uint32_t head,
                            std::uint32_t first, std::uint32_t count);
AnalysisQuery steering_query(model::BlockRef block, std::uint32_t batch, std::uint32_t first, std::uint32_t count);
/// What a head gives on the mean over these tokens of the baseline, for each of them.
AnalysisQuery reference_mean_query(model::BlockRef block, std::uint32_t batch, std::uint32_t head, std::uint32_t first,
                                   std::uint32_t count);

/// The same activations at another place of the same kind: in another layer or head, from another token on. They must be as
/// wide there.
inference::Intervention moved(inference::Intervention patch, std::uint32_t layer, std::uint32_t head, std::uint32_t first);

}  // namespace headlight::app
