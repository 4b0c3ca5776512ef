#pragma once

#include "attention/mask.h"
#include "model/reference.h"

namespace headlight::test {

/// What the reference asks, answered by a mask set; both arguments must outlive the result.
model::reference::Visibility visibility(const attention::MaskSet& masks, const model::ModelInput& input);

}  // namespace headlight::test
