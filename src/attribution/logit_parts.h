#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "model/network.h"

namespace headlight::attribution {

/// A logit as a linear function of the residual stream x before the final norm, with that norm's scale taken as a constant:
/// logit = direction · x + constant. Every part of a sum x then has a share of the logit: direct logit attribution
/// (nostalgebraist 2020; Elhage et al. 2021; TransformerLens's apply_ln_to_stack and logit_attrs).
///   LayerNorm: direction = (u − mean(u)) / √(variance(x) + ε), u = W_U[token] ∘ weight
///   RMSNorm:   direction = u / √(mean(x²) + ε)
/// The constant has what is no part of x: W_U[token] · norm bias + b_U[token].
struct LogitDirection {
  std::vector<double> direction;  ///< [d_model]
  double constant = 0.0;

  /// direction · part, of a part [d_model] of the residual stream.
  double of(std::span<const float> part) const;
};

/// The token whose logit is explained, and another one for the difference logit(token) − logit(other).
struct LogitTarget {
  std::uint32_t token = 0;
  std::optional<std::uint32_t> other = {};
};

/// `residual` [d_model]: the row of the last layer before the final norm. The network is one that why_not_attributable()
/// accepts, the tokens are in its vocabulary.
LogitDirection logit_direction(const model::Layers& layers, std::span<const float> residual, LogitTarget target);

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
