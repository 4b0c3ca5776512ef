#pragma once

#include "attention/mask.h"
#include "inference/reference_run.h"

namespace headlight::test {

/// The reference's visibility function for a mask set; both arguments must outlive the result.
model::reference::Visibility visibility(const attention::MaskSet& masks, const model::ModelInput& input);

inline const inference::Interventions kNoInterventions;

/// Returns the visibility with the mask expressions; score_edit() returns the changes that score expressions make to
/// scores. All arguments must outlive the results.
inline model::reference::Visibility visibility(const attention::MaskSet& masks, const model::Network& network,
                                               const model::ModelInput& input) {
  return inference::reference_rules(network, input, masks, kNoInterventions).is_visible;
}
inline model::reference::ScoreEdit score_edit(const attention::MaskSet& masks, const model::Network& network,
                                              const model::ModelInput& input) {
  return inference::reference_rules(network, input, masks, kNoInterventions).score;
}

}  // namespace headlight::test
