#include "inference/embed.h"

namespace headlight::inference {

Tensor embed(const model::Embedding* embedding, const model::TokenBatch& tokens) {
  if (!tokens.vectors.is_empty()) return tokens.vectors;
  const std::uint32_t d_model = embedding->table.axis(1);
  Tensor x({tokens.batch, tokens.length, d_model});
  for (std::size_t row = 0; row < std::size_t{tokens.batch} * tokens.length; ++row) {
    float* target = x.values.data() + row * d_model;
    if (tokens.ids[row] != model::kPaddingId) {
      const float* vector = embedding->table.values.data() + std::size_t{tokens.ids[row]} * d_model;
      for (std::uint32_t d = 0; d < d_model; ++d) target[d] = vector[d] * embedding->scale;
    }
    if (!embedding->positions.is_empty()) {
      const float* position = embedding->positions.values.data() + row % tokens.length * d_model;
      for (std::uint32_t d = 0; d < d_model; ++d) target[d] += position[d];
    }
  }
  return x;
}

}  // namespace headlight::inference
