#pragma once

#include "app/views/view.h"

namespace headlight::app {

/// What the logit of the next token is made of: bars of embedding, attention, MLPs and biases, a map of all heads, and the
/// source tokens of the heads. The parts sum to the logit, which is shown and compared.
std::unique_ptr<ViewPanel> open_logits_view();

}  // namespace headlight::app
