#pragma once

#include "app/frame.h"
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

}  // namespace headlight::app
