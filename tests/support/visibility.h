#pragma once

#include "attention/mask.h"
#include "model/reference.h"

namespace headlight::test {

/// The reference's visibility function for a mask set; both arguments must outlive the result.
model::reference::Visibility visibility(const attention::MaskSet& masks, const model::ModelInput& input);

}  // namespace headlight::test
