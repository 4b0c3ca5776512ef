#include <algorithm>
#include <cmath>
#include <utility>

#include "model/architectures/families.h"
#include "model/architectures/tensors.h"

namespace headlight::model {
namespace {

/// Sines in the first half of a row, cosines in the second (Marian, Pegasus). Closed: their last frequency is 1/10000, and
/// the last column of an odd width is 0 (M2M-100, XGLM).
Tensor halved_sinusoid(std::uint32_t length, std::uint32_t width, bool is_closed) {
  Tensor positions(Shape{length, width});
  const std::uint32_t sines = is_closed ? width / 2 : width / 2 + width % 2;
  const double step = is_closed ? 1.0 / (std::max(sines, 2u) - 1.0) : 2.0 / width;
  for (std::uint32_t row = 0; row < length; ++row) {
    for (std::uint32_t column = 0; column < (is_closed ? 2 * sines : width); ++column) {
      const std::uint32_t pair = column < sines ? column : column - sines;
      const double angle = row / std::pow(10000.0, step * pair);
      positions.at({row, column}) = static_cast<float>(column < sines ? std::sin(angle) : std::cos(angle));
    }
  }
  return positions;
}

}  // namespace

Embedding build_embedding(const Family& family, const StackNames& names, const Sizes& sizes, std::uint32_t vocabulary,
                          std::uint32_t length, FamilyTensors& tensors) {
  Embedding embedding{.table = tensors.weight(names.table, {vocabulary, sizes.d_embedding}),
                      .scale = sizes.embedding_scale,
                      .adds_positions_last = family.is_projected_first || names.adds_positions_last,
                      .dropped_id = sizes.dropped_id};
  const std::uint32_t width = family.is_projected_first ? sizes.d_model : sizes.d_embedding;
  const std::uint32_t rows = length + sizes.position_offset;
  const bool is_learned = sizes.positions == Positions::Learned;
  if (is_learned || (sizes.positions == Positions::Sinusoidal && tensors.has(names.positions))) {
    embedding.positions = tensors.weight(names.positions, {rows, width});
  } else if (sizes.positions == Positions::Sinusoidal) {
    embedding.positions = halved_sinusoid(rows, width, family.is_sinusoid_closed);
    embedding.computes_positions = family.is_sinusoid_closed;
  }
  if (!embedding.positions.is_empty()) embedding.position_offset = sizes.position_offset;
  if (sizes.types > 0) embedding.types = tensors.weight(names.types, {sizes.types, width});
  if (sizes.task_types > 0) {
    // Every token is of task 0, transformers' default.
    Tensor types = embedding.types.tensor();
    const Tensor tasks = tensors.weight(names.task_types, {sizes.task_types, width}).tensor();
    for (std::size_t i = 0; i < types.values.size(); ++i) types.values[i] += tasks.values[i % width];
    embedding.types = Parameter(std::move(types));
  }
  if (!names.embedding_norm.empty() && sizes.has_embedding_norm) {
    embedding.norm = tensors.norm(names.embedding_norm, sizes.d_embedding, sizes);
  }
  if (!names.projection.empty() && (sizes.d_embedding != sizes.d_model || tensors.has(names.projection))) {
    embedding.projection = tensors.linear(names.projection, sizes.d_model, sizes.d_embedding, !family.is_projected_first);
  }
  return embedding;
}

std::optional<Unembedding> build_unembedding(const Family& family, const Sizes& sizes, const Embedding& embedding,
                                             FamilyTensors& tensors) {
  const HeadNames& names = family.head;
  const bool has_linear = tensors.has_head(names.linear);
  const bool has_transform = tensors.has_head(names.transform);
  if (sizes.kind == StackKind::Encoder) {
    // Classifiers may have a layer of the same name as its transform.
    const bool is_known =
        has_linear || (sizes.has_head_bias ? tensors.has_whole(names.bias) : !tensors.has_head("classifier"));
    if (!has_transform || !is_known) return std::nullopt;
  }
  if (!has_linear && !sizes.is_tied) return std::nullopt;

  Unembedding unembedding;
  unembedding.activation = sizes.head_activation;
  unembedding.scale = sizes.head_scale;
  unembedding.softcap = sizes.head_softcap;
  if (has_transform || sizes.d_embedding != sizes.d_model) {
    unembedding.transform = tensors.head_linear(names.transform, sizes.d_embedding, sizes.d_model,
                                                sizes.has_transform_bias && !family.is_projected_first);
  }
  if (!names.norm.empty()) unembedding.norm = tensors.unembedding_norm(names.norm, sizes.d_embedding, sizes);
  const std::uint32_t vocabulary = sizes.kind == StackKind::EncoderDecoder ? sizes.target_vocabulary : sizes.vocabulary;
  unembedding.linear.weight = has_linear ? tensors.head_linear(names.linear, vocabulary, sizes.d_embedding, false).weight
                                         : tensors.tied_table(family.encoder.table, embedding.table);
  if (!names.bias.empty() && sizes.has_head_bias) {
    unembedding.linear.bias = tensors.head_bias(names.bias, vocabulary, family.kind == StackKind::Encoder);
  }
  return unembedding;
}

}  // namespace headlight::model
