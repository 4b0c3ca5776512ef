#pragma once

#include "app/views/neuron/neuron_pair.h"

namespace headlight::app {

/// Strips of colour over all components, from the cursor on: q, k and their products, before RoPE too where the layer has
/// it. `hovered` is the component under the pointer, here or in the table; set when it is here.
void draw_product_strips(Frame& frame, const NeuronPair& pair, std::optional<std::uint32_t>& hovered);
/// Their height, UI units.
float product_strips_height(const NeuronPair& pair);

/// One line for each component, in the pair's order: its numbers on their colours and the product as a signed bar. Fills the
/// rest of the region and scrolls; only visible lines cost anything.
void draw_product_table(Frame& frame, const NeuronPair& pair, std::optional<std::uint32_t>& hovered);

/// The lines from the sum of the products to the weight, each with its formula, its numbers and its result, and beside them
/// what the device computed. Fills the region and scrolls where that is too low.
void draw_chain(Frame& frame, const ScoreChain& chain);

/// "On the device: score 0.41832, …: what the parts add up to differs by 3e-8 …", once both are known; of a capture "On the
/// map".
std::string compare_with_device(const ScoreChain& chain, bool is_captured);

}  // namespace headlight::app
