#pragma once

#include "app/cells/score_chain.h"
#include "app/frame.h"

namespace headlight::app {

/// The lines from the sum of the products to the weight, each with its formula, its numbers and its result, and beside them
/// what the device computed. Fills the region and scrolls where that is too low.
void draw_chain(Frame& frame, const ScoreChain& chain);

/// "as the device computed it: 0.41832; the parts differ by 3e-8", once both are known.
std::string compare_with_device(const ScoreChain& chain);

}  // namespace headlight::app
