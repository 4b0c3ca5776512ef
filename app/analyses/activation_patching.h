#pragma once

#include "app/analyses/analysis.h"
#include "app/analyses/patch_effects.h"

namespace headlight::app {

/// Activation patching between the run and the baseline (Meng et al. 2022; Wang et al. 2022): for every cell of a map one
/// pass of the one in which the cell's activations are those of the other, and what that does to a prediction. The two have
/// the same shapes, so that tokens correspond by their numbers. A cell whose activations are the same in both, bit by bit,
/// needs no pass.
struct PatchingQuestion {
  PatchMap map = PatchMap::Residual;
  model::BlockKind kind = {};
  bool into_baseline = false;               ///< the run's activations go into the baseline
  std::optional<std::uint32_t> token = {};  ///< of heads: at that token alone
  MeasuredToken measured = {};

  auto operator<=>(const PatchingQuestion&) const = default;
  bool compares() const { return true; }
};
/// Told layer by layer.
Task<PatchEffects> analyse(PatchingQuestion question, AnalysisSubject subject);

/// The choices' question.
PatchingQuestion patching_query(const PatchingChoices& choices, model::BlockKind kind, std::uint32_t batch,
                                std::uint32_t position, std::uint32_t token, std::optional<std::uint32_t> other);

}  // namespace headlight::app
