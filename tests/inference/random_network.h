#pragma once

#include <memory>

#include "attention/mask.h"
#include "inference/intervention.h"
#include "model/network.h"
#include "support/random.h"

namespace headlight::test {

/// A network, its input and its masks.
struct NetworkCase {
  std::shared_ptr<const model::Network> network;
  model::ModelInput input;
  attention::MaskSet masks;  ///< the same fill for every kind of block, as the reference takes it
};

/// x = linear(in) with numbers that keep x's size.
model::Linear random_linear(Random& random, std::uint32_t in, std::uint32_t out, bool has_bias);
model::AttentionWeights random_weights(Random& random, const model::AttentionConfig& config, bool has_bias, bool has_output);
/// A padded batch of vectors.
model::TokenBatch random_tokens(Random& random, std::uint32_t batch, std::uint32_t length, std::uint32_t d_model);
/// One encoder layer over vectors, without residual.
std::shared_ptr<const model::Network> single_layer(const model::AttentionConfig& config, model::AttentionWeights weights);

/// Encoder, encoder–decoder or cross-attention stack of random sizes, biases, residuals, feed-forwards, scales and merges.
NetworkCase random_network(Random& random);

/// Rule, fill, matrix and painted cells at random, for each kind of block.
attention::MaskSet random_masks(Random& random, const model::Network& network, const model::ModelInput& input);

/// Returns an intervention on any site, of a block, of all blocks of a layer or kind, or of the whole network; of one
/// head or all, and of one batch item or all.
inference::Intervention random_intervention(Random& random, const model::Network& network);

}  // namespace headlight::test
