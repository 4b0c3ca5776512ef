#include "app/state/run_interventions.h"

#include <algorithm>
#include <iterator>

namespace headlight::app {

inference::Interventions interventions_of(const RunInputs& inputs, const model::Network& network) {
  inference::Interventions all = inference::interventions_of(inputs.patterns, network);
  for (const KeptChange& change : inputs.changes) {
    inference::Intervention one = intervention_of(change);
    if (inference::fits(network, one)) all.push_back(std::move(one));
  }
  std::ranges::move(inference::interventions_of(inputs.gains, network), std::back_inserter(all));
  return all;
}

}  // namespace headlight::app
