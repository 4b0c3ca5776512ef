#pragma once

#include <optional>
#include <vector>

#include "core/tensor.h"
#include "model/config.h"
#include "model/parameter.h"

namespace headlight::model {

/// torch.nn.Linear: y = x · weightᵀ + bias.
struct Linear {
  Parameter weight;     ///< [out, in]
  Parameter bias = {};  ///< [out], or empty for none

  std::uint32_t in() const { return weight.axis(1); }
  std::uint32_t out() const { return weight.axis(0); }
  bool has_bias() const { return !bias.is_empty(); }
  /// The layer of the outputs [first, first + count) alone.
  Linear rows(std::uint32_t first, std::uint32_t count) const {
    return {.weight = weight.rows(first, count), .bias = has_bias() ? bias.rows(first, count) : Parameter()};
  }
};

/// Normalisation over the last axis.
struct Norm {
  enum class Kind : std::uint8_t {
    Layer,           ///< torch.nn.LayerNorm: (x − mean) / √(variance + ε) · weight + bias
    RootMeanSquare,  ///< torch.nn.RMSNorm (Zhang & Sennrich 2019): x / √(mean(x²) + ε) · weight
  };
  Parameter weight;     ///< [d]
  Parameter bias = {};  ///< [d], or empty for none
  float epsilon = 1e-5f;
  Kind kind = Kind::Layer;
  float weight_offset = 0.0f;  ///< added to the weight: 1 in Gemma, whose weights are stored as differences from 1
  bool is_plain = false;       ///< there is no weight in the model (OLMo): the one here is 1 everywhere
  /// Of queries or keys: over all heads of a token together (OLMo 2) instead of each by itself.
  bool spans_heads = false;
};

enum class Activation : std::uint8_t {
  None,
  Relu,
  Gelu,       ///< x · Φ(x), by the error function (torch.nn.GELU)
  GeluTanh,   ///< its approximation by tanh (torch.nn.GELU(approximate="tanh"), "gelu_new", "gelu_pytorch_tanh")
  Silu,       ///< x · sigmoid(x), "swish"
  Relu2,      ///< max(x, 0)² (Nemotron)
  QuickGelu,  ///< x · sigmoid(1.702 · x), CLIP's approximation of Gelu
};

/// Position-wise feed-forward: out(activation(in(x))), or gated (Shazeer 2020): out(activation(gate(x)) · in(x)).
struct FeedForward {
  Linear in;                        ///< [d_ff, d_model]
  Linear out;                       ///< [d_model, d_ff]
  std::optional<Linear> gate = {};  ///< [d_ff, d_model]
  Activation activation = Activation::Relu;
};

/// A feed-forward of which a router chooses some parts for each token (a mixture of experts, Shazeer et al. 2017):
///   y = Σ gate_e · expert_e(x) over the chosen e, plus σ(shared_gate(x)) · shared(x) where there is a shared expert.
/// Those with the largest router logits are chosen, of equal ones the lower number. A gate is the softmax of its logit over
/// all experts, or over the chosen ones alone.
struct Experts {
  Linear router;                     ///< [experts, d_model]
  std::vector<FeedForward> experts;  ///< all of one shape, with or without a gate layer
  std::uint32_t per_token = 1;       ///< experts that a token is given to
  bool gates_sum_to_one = false;     ///< the softmax is over the chosen experts
  std::optional<FeedForward> shared = {};
  std::optional<Linear> shared_gate = {};  ///< [1, d_model]; without one, the shared expert counts as it is

  std::uint32_t count() const { return static_cast<std::uint32_t>(experts.size()); }
};
/// Limits of the kernels.
inline constexpr std::uint32_t kMaxExperts = 1024, kMaxExpertsPerToken = 64;

/// The projections of one attention in canonical form: rows of query, key and value weights are [head][d]. With grouped
/// queries keys and values have config.kv_heads heads.
struct AttentionWeights {
  Linear query;                       ///< [heads·d_k, d_model]
  Linear key;                         ///< [kv_heads·d_k, d_model]
  Linear value;                       ///< [kv_heads·d_v, d_model]
  std::optional<Linear> output = {};  ///< [d_out, heads·d_v], or none: merged heads are the output
  /// Before rotary positions, over d_k of each head: by weights [d_k] (Qwen 3), or [heads·d_k] where each head has its own
  /// (Cohere) or the norm spans heads (OLMo 2).
  std::optional<Norm> query_norm = {}, key_norm = {};
  /// Of vectors of distances (DistanceVectors), in place of those of queries and keys: [heads·d_k, d_model].
  std::optional<Linear> position_query = {}, position_key = {};
};

/// The order of Q, K and V rows in one fused weight.
enum class FusedLayout : std::uint8_t {
  QueryKeyValue,  ///< [q | k | v], each [head][d]: torch.nn.MultiheadAttention.in_proj_weight, GPT-2's c_attn, Phi-3's
                  ///< qkv_proj
  PerHead,        ///< [head][q | k | v][d_k]: notebook 003, GPT-NeoX, BLOOM; with grouped queries [KV head][q of its heads |
                  ///< k | v]: Falcon, InternLM 2
  PerQuarter,     ///< [quarter of the heads][q | v | k], as CodeGen was trained on four devices
};

/// Canonical projections from one fused weight [heads·d_k + kv_heads·(d_k + d_v), d_model]; views, nothing is copied.
/// PerQuarter needs as many KV heads as heads, a multiple of four. Throws Error naming expected and found shape.
AttentionWeights split_fused(const Linear& fused, FusedLayout layout, const AttentionConfig& config);

/// Canonical projections from one weight per head (notebook 004): query and key [heads, d_k, d_model], value
/// [heads, d_v, d_model], no bias. Throws Error naming expected and found shape.
AttentionWeights from_per_head(const Tensor& query, const Tensor& key, const Tensor& value, const AttentionConfig& config);

/// Throws Error when a weight's shape is not what `config` asks for, naming it with expected and found shape.
void check_shapes(const AttentionWeights& weights, const AttentionConfig& config);

}  // namespace headlight::model
