#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/tensor.h"
#include "model/network.h"

namespace headlight::model::reference {

/// The oracle: plain loops in double precision, nothing shared with the kernels.

/// A dense double matrix stack, row-major.
struct Array {
  Shape shape;
  std::vector<double> values;
};

/// The parts of a forward pass around attention.

Array zeros(Shape shape);
Array widen(const Tensor& tensor);

/// y = x · weightᵀ + bias over the last axis.
Array apply(const Linear& linear, const Array& x);
/// LayerNorm (with the biased variance) or RMSNorm over the last axis.
Array apply(const Norm& norm, Array x);
/// norm(x); x itself without a norm.
Array apply(const std::optional<Norm>& norm, Array x);
/// What follows the projection of queries or keys [batch, head, token, d_k]: normed, then cut to ±clip. `heads` are all of
/// them where the norm spans heads, else those from `first_head` on.
Array finish_projection(const AttentionConfig& config, const std::optional<Norm>& norm, Array x,
                        std::uint32_t first_head = 0);

/// [batch, head, token, d] → [batch, token, heads·d] in either order.
Array merge_heads(const Array& split, MergeOrder order);
/// RoPE: rotates the pairs of [batch, head, token, d] by the tokens' positions.
Array rotate(const Rotary& rotary, const TokenBatch& tokens, Array x);

/// Token vectors [batch, token, d_model]; those of the input when there is no embedding.
Array embed(const Embedding* embedding, const TokenBatch& tokens);

}  // namespace headlight::model::reference
