#pragma once

#include <memory>

#include "app/state.h"
#include "inference/playground.h"
#include "model/network.h"

namespace headlight::app {

/// Turns what a person chose into a network and its input, and keeps the last ones: a changed text doesn't draw the weights
/// again, a changed mask builds nothing.
class RunSource {
 public:
  struct Source {
    std::shared_ptr<const model::Network> network;
    std::shared_ptr<const model::ModelInput> input;
  };

  /// Throws Error in one line (see inference::make_playground, inference::make_notebook); then the last source stays.
  const Source& build(const RunInputs& inputs);

 private:
  RunInputs inputs_;
  Source source_;
  inference::Playground playground_;
};

}  // namespace headlight::app
