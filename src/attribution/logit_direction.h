#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

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

}  // namespace headlight::attribution
