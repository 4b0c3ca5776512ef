#pragma once

#include "app/cells/score_chain.h"
#include "app/frame.h"

namespace headlight::app {

/// The lines from the sum of the products to the weight, each with its formula, its numbers and its result, and beside them
/// what the device computed. Fills the region and scrolls where that is too low.
void draw_chain(Frame& frame, const ScoreChain& chain);

/// "On the device: score 0.41832, …: what the parts add up to differs by 3e-8 …", once both are known; of a capture "On the
/// map".
std::string compare_with_device(const ScoreChain& chain, bool is_captured);

}  // namespace headlight::app
