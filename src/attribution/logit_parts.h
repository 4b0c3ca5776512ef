#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attribution/logit_direction.h"
#include "model/network.h"

namespace headlight::attribution {

/// Parts of one logit that a layer writes into the residual stream of one token. They sum to direction · (after − before).
struct LayerLogits {
  std::vector<double> heads;    ///< [heads]
  double attention_bias = 0.0;  ///< b_O
  double mlp = 0.0;             ///< the feed-forward with its biases; what is left of a layer without one: about 0

  /// Heads and bias.
  double attention() const;
};

/// W_Oᵀ · direction [heads, d_v]: by how much each component of a head's output changes the logit. Reads all of W_O.
std::vector<double> head_directions(const model::AttentionLayer& layer, std::span<const double> direction);

/// `directions` are head_directions(); `merged` [heads·d_v], `before` and `after` [d_model]: of one token, the heads'
/// outputs and the residual stream around the layer.
LayerLogits layer_logits(const model::AttentionLayer& layer, const LogitDirection& direction,
                         std::span<const double> directions, std::span<const float> merged, std::span<const float> before,
                         std::span<const float> after);

/// Adds what each key's value gives to the logit through one head: weights[j] · (direction · v_j) to sums[j].
/// `direction` [d_v]: the head's part of head_directions(); `weights` [keys] of the query; `values` [keys, d_v].
void add_source_logits(std::span<const double> direction, std::span<const float> weights, std::span<const float> values,
                       std::span<double> sums);

}  // namespace headlight::attribution
