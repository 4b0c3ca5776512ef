#pragma once

#include "app/views/view.h"

namespace headlight::app {

/// Where the state behind a prediction comes from, as a graph of tokens and layers: information-flow routes, attention
/// rollout or attention flow. Edges below the threshold are left out.
std::unique_ptr<ViewPanel> open_flow_view();

}  // namespace headlight::app
