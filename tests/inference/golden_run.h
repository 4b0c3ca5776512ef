#pragma once

#include <cstddef>
#include <vector>

#include "attention/mask.h"
#include "inference/session.h"
#include "model/load_network.h"
#include "support/golden_model.h"
#include "support/running_session.h"

namespace headlight::test {

/// The mask that a case was computed with, as a user would set it.
attention::MaskSet masks_of(const model::ModelDescription& description, const GoldenCase& golden);

/// The largest differences from golden numbers: absolute of maps, relative to the root mean square of states and logits.
struct GoldenDifference {
  double attention = 0.0, hidden = 0.0, logits = 0.0;
  std::size_t unordered = 0;  ///< tokens whose ten most likely next tokens are in another order
};

/// Runs all cases of a model one after the other.
GoldenDifference run_golden(gpu::Context& context, const model::LoadedNetwork& loaded, const std::vector<GoldenCase>& cases,
                            inference::Precision precision);
GoldenDifference run_golden(RunningSession& session, const model::LoadedNetwork& loaded,
                            const std::vector<GoldenCase>& cases, inference::Precision precision);

}  // namespace headlight::test
