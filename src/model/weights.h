#pragma once

#include <optional>

#include "core/tensor.h"
#include "model/config.h"

namespace headlight::model {

/// torch.nn.Linear: y = x · weightᵀ + bias.
struct Linear {
  Tensor weight;     ///< [out, in]
  Tensor bias = {};  ///< [out], or empty for none

  std::uint32_t in() const { return weight.axis(1); }
  std::uint32_t out() const { return weight.axis(0); }
  bool has_bias() const { return !bias.is_empty(); }
};

/// torch.nn.LayerNorm over the last axis.
struct LayerNorm {
  Tensor weight;  ///< [d]
  Tensor bias;    ///< [d]
  float epsilon = 1e-5f;
};

/// Position-wise feed-forward: out(relu(in(x))).
struct FeedForward {
  Linear in;   ///< [d_ff, d_model]
  Linear out;  ///< [d_model, d_ff]
};

/// The projections of one attention in canonical form: rows of query, key and value weights are [head][d].
struct AttentionWeights {
  Linear query;                       ///< [heads·d_k, d_model]
  Linear key;                         ///< [heads·d_k, d_model]
  Linear value;                       ///< [heads·d_v, d_model]
  std::optional<Linear> output = {};  ///< [d_out, heads·d_v], or none: merged heads are the output
};

/// Where Q, K and V rows stand in one fused weight.
enum class FusedLayout : std::uint8_t {
  QueryKeyValue,  ///< [q | k | v], each [head][d]: torch.nn.MultiheadAttention.in_proj_weight, GPT-2's c_attn
  PerHead,        ///< [head][q | k | v][d_k]: notebook 003, GPT-NeoX
};

/// Canonical projections from one fused weight [heads·(2·d_k + d_v), d_model].
/// Throws Error naming expected and found shape.
AttentionWeights split_fused(const Linear& fused, FusedLayout layout, const AttentionConfig& config);

/// Canonical projections from one weight per head (notebook 004): query and key [heads, d_k, d_model], value
/// [heads, d_v, d_model], no bias. Throws Error naming expected and found shape.
AttentionWeights from_per_head(const Tensor& query, const Tensor& key, const Tensor& value, const AttentionConfig& config);

/// Throws Error when a weight's shape is not what `config` asks for, naming it with expected and found shape.
void check_shapes(const AttentionWeights& weights, const AttentionConfig& config);

}  // namespace headlight::model
