#pragma once

#include "model/network.h"
#include "model/reference.h"

namespace headlight::model::reference {

/// The parts of a forward pass around attention, in plain double-precision loops.

Array zeros(Shape shape);
Array widen(const Tensor& tensor);
/// a + b of equal shapes.
Array add(Array a, const Array& b);

/// y = x · weightᵀ + bias over the last axis.
Array apply(const Linear& linear, const Array& x);
/// LayerNorm (with the biased variance) or RMSNorm over the last axis.
Array apply(const Norm& norm, Array x);
/// norm(x); x itself without a norm.
Array apply(const std::optional<Norm>& norm, Array x);
Array apply(const FeedForward& feed_forward, const Array& x);
/// Its inner layer after the activation, times the gate where there is one. `stages`: not null, hidden layer and gate before
/// the activation go there.
Array apply_inner(const FeedForward& feed_forward, const Array& x, AttentionStages* stages = nullptr);
double apply(Activation activation, double x);

/// [batch, token, heads·d] → [batch, head, token, d]
Array split_heads(const Array& x, std::uint32_t heads);
/// [batch, head, token, d] → [batch, token, heads·d] in either order.
Array merge_heads(const Array& split, MergeOrder order);
/// RoPE: rotates the pairs of [batch, head, token, d] by the tokens' positions.
Array rotate(const Rotary& rotary, const TokenBatch& tokens, Array x);

/// Token vectors [batch, token, d_model]; those of the input when there is no embedding.
Array embed(const Embedding* embedding, const TokenBatch& tokens);
/// [batch, token, d] → logits [batch, token, vocabulary]
Array unembed(const Unembedding& unembedding, Array x);

}  // namespace headlight::model::reference
