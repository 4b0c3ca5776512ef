#pragma once

#include "app/state/state.h"
#include "inference/intervention.h"

namespace headlight::app {

/// What the user changed about the pass, for this network: replaced patterns, kept activations, then gains of heads. What
/// the network has no place for is left out: it may be of the network that was open before.
inference::Interventions interventions_of(const RunInputs& inputs, const model::Network& network);

}  // namespace headlight::app
