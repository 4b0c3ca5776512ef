#pragma once

#include <string>

#include "app/state/state.h"

namespace headlight::app {

/// How masks, head gains and replaced patterns differ from those the model was trained with, or the playground's and the
/// notebook's own: "1 head knocked out · padding off". Empty where they are equal.
std::string model_changes(const State& state);

}  // namespace headlight::app
