#pragma once

#include "attention/mask.h"
#include "model/reference.h"

namespace headlight::test {

/// The reference's visibility function for a mask set; both arguments must outlive the result.
model::reference::Visibility visibility(const attention::MaskSet& masks, const model::ModelInput& input);

/// The same with the mask expressions, and what the score expressions make of scores. All arguments must outlive the result.
model::reference::Visibility visibility(const attention::MaskSet& masks, const model::Network& network,
                                        const model::ModelInput& input);
model::reference::ScoreEdit score_edit(const attention::MaskSet& masks, const model::Network& network,
                                       const model::ModelInput& input);

}  // namespace headlight::test
