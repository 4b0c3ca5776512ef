#pragma once

#include "core/tensor.h"
#include "model/network.h"

namespace headlight::inference {

/// What the first layer sees, [batch, token, d_model]: the batch's own vectors, or table[id]·scale + positions[i] in float32
/// as PyTorch computes it; padding has a zero vector, plus its position.
/// `embedding` may be null when the batch brings vectors.
Tensor embed(const model::Embedding* embedding, const model::TokenBatch& tokens);

}  // namespace headlight::inference
