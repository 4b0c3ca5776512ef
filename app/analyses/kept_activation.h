#pragma once

#include "app/analyses/analysis.h"

namespace headlight::app {

/// Activations that the user keeps as a change of the present run: those of the run that it is compared with, at one place
/// of the patching view (Replace); or a steering vector (Add; "activation addition", Turner et al. 2023): the residual
/// stream before a layer in the frozen run less that in the present one, their mean over the line's tokens or of the last
/// one alone. Heeds the query's `block`, `batch`, `head`, `query` (the first token), `key` (how many) and `options`: a
/// PatchMap, and 1 for a steering vector.
extern const Analysis kKeptActivation;

struct KeptActivation final : AnalysisResult {
  inference::Intervention intervention;
};

/// The question; tokens [first, first + count). Of a steering vector the mean over these is taken.
AnalysisQuery keeping_query(PatchMap map, model::BlockRef block, std::uint32_t batch, std::uint32_t head,
                            std::uint32_t first, std::uint32_t count);
AnalysisQuery steering_query(model::BlockRef block, std::uint32_t batch, std::uint32_t first, std::uint32_t count);

}  // namespace headlight::app
