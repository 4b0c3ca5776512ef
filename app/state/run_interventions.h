#pragma once

#include "app/state/state.h"
#include "inference/intervention.h"

namespace headlight::app {

/// Returns the user's changes of the pass for this network: replaced patterns, kept activations, gains of heads, then
/// those of settings. Changes without a place in the network are left out: they may be of the network that was open before.
inference::Interventions interventions_of(const RunInputs& inputs, const model::Network& network);

/// Returns one line for each kept change that such a run leaves out, wholly or in part, because the network or the text has
/// no place for it.
std::vector<std::string> changes_left_out(const RunInputs& inputs, const model::Network& network,
                                          const model::ModelInput& input);

}  // namespace headlight::app
