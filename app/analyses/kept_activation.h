#pragma once

#include "app/analyses/patch_place.h"

namespace headlight::app {

/// Activations that the user keeps as a change of the present run: the baseline's at one place (Replace); or a steering
/// vector (Add; "activation addition", Turner et al. 2023): the baseline's there less the present run's, their mean over the
/// place's tokens; or the baseline's mean over these tokens for each of them (Replace; mean ablation over a reference text).
struct KeptActivationQuestion {
  enum class Kept : std::uint8_t { Activations, SteeringVector, Mean };

  PatchPlace place = {};
  Kept kept = Kept::Activations;

  auto operator<=>(const KeptActivationQuestion&) const = default;
  bool compares() const { return true; }
};

struct KeptActivation final : AnalysisResult {
  inference::Intervention intervention;
};

Task<KeptActivation> analyse(KeptActivationQuestion question, AnalysisSubject subject);

/// Questions about tokens [first, first + count). Of a steering vector the mean over these is taken, of the residual stream.
KeptActivationQuestion keeping_query(PatchMap map, model::BlockRef block, std::uint32_t batch, std::uint32_t head,
                                     std::uint32_t first, std::uint32_t count);
KeptActivationQuestion steering_query(model::BlockRef block, std::uint32_t batch, std::uint32_t first, std::uint32_t count);
/// What a head gives on the mean over these tokens of the baseline, for each of them.
KeptActivationQuestion reference_mean_query(model::BlockRef block, std::uint32_t batch, std::uint32_t head,
                                            std::uint32_t first, std::uint32_t count);

/// The same activations at another place of the same kind: in another layer or head, from another token on. They must be as
/// wide there.
inference::Intervention moved(inference::Intervention patch, std::uint32_t layer, std::uint32_t head, std::uint32_t first);

}  // namespace headlight::app
