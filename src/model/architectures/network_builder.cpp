#include "model/architectures/network_builder.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/error.h"
#include "model/architectures/families.h"
#include "model/architectures/layer_builder.h"
#include "model/architectures/rotary_settings.h"

namespace headlight::model {
namespace {

/// Sines in the first half of a row, cosines in the second (Marian, Pegasus).
Tensor halved_sinusoid(std::uint32_t length, std::uint32_t width) {
  Tensor positions(Shape{length, width});
  const std::uint32_t sines = width / 2 + width % 2;
  for (std::uint32_t row = 0; row < length; ++row) {
    for (std::uint32_t column = 0; column < width; ++column) {
      const std::uint32_t pair = column < sines ? column : column - sines;
      const double angle = row / std::pow(10000.0, 2.0 * pair / width);
      positions.at({row, column}) = static_cast<float>(column < sines ? std::sin(angle) : std::cos(angle));
    }
  }
  return positions;
}

/// ALiBi's slopes (Press et al. 2022): powers of 2^(−8/n) for n heads, n a power of two; the rest are in between.
Tensor alibi_slopes(std::uint32_t heads) {
  Tensor slopes(Shape{heads});
  std::uint32_t whole = 1;
  while (whole * 2 <= heads) whole *= 2;
  for (std::uint32_t head = 0; head < heads; ++head) {
    const double exponent = head < whole ? 8.0 * (head + 1) / whole : 4.0 * (2 * (head - whole) + 1) / whole;
    slopes.values[head] = static_cast<float>(std::exp2(-exponent));
  }
  return slopes;
}

Embedding build_embedding(const Family& family, const StackNames& names, const Sizes& sizes, std::uint32_t vocabulary,
                          FamilyTensors& tensors) {
  Embedding embedding{.table = tensors.weight(names.table, {vocabulary, sizes.d_embedding}),
                      .scale = sizes.embedding_scale,
                      .is_projected_first = family.is_projected_first};
  const std::uint32_t width = family.is_projected_first ? sizes.d_model : sizes.d_embedding;
  if (family.positions == Positions::Learned ||
      (family.positions == Positions::Sinusoidal && tensors.has(names.positions))) {
    embedding.positions = tensors.weight(names.positions, {sizes.max_length + sizes.position_offset, width});
    embedding.position_offset = sizes.position_offset;
  } else if (family.positions == Positions::Sinusoidal) {
    embedding.positions = halved_sinusoid(sizes.max_length, width);
  }
  if (!names.types.empty()) embedding.types = tensors.weight(names.types, {sizes.types, width});
  if (!names.embedding_norm.empty()) {
    embedding.norm = tensors.norm(names.embedding_norm, sizes.d_embedding);
    embedding.norm->epsilon = sizes.epsilon;
  }
  if (!names.projection.empty() && (sizes.d_embedding != sizes.d_model || tensors.has(names.projection))) {
    embedding.projection = tensors.linear(names.projection, sizes.d_model, sizes.d_embedding, !family.is_projected_first);
  }
  return embedding;
}

/// None when the checkpoint holds the stack alone.
std::optional<Unembedding> build_unembedding(const Family& family, const Sizes& sizes, const Embedding& embedding,
                                             FamilyTensors& tensors) {
  const HeadNames& names = family.head;
  const bool has_linear = tensors.has_head(names.linear);
  const bool has_transform = tensors.has_head(names.transform);
  if (family.kind == StackKind::Encoder && !has_transform) return std::nullopt;
  if (!has_linear && !sizes.is_tied) return std::nullopt;

  Unembedding unembedding;
  unembedding.activation = sizes.head_activation;
  unembedding.scale = sizes.head_scale;
  unembedding.softcap = sizes.head_softcap;
  if (has_transform || sizes.d_embedding != sizes.d_model) {
    unembedding.transform =
        tensors.head_linear(names.transform, sizes.d_embedding, sizes.d_model, !family.is_projected_first);
  }
  if (!names.norm.empty()) {
    unembedding.norm = tensors.head_norm(names.norm, sizes.d_embedding);
    unembedding.norm->epsilon = sizes.epsilon;
  }
  const std::uint32_t vocabulary = family.kind == StackKind::EncoderDecoder ? sizes.target_vocabulary : sizes.vocabulary;
  unembedding.linear.weight =
      has_linear ? tensors.head_linear(names.linear, vocabulary, sizes.d_embedding, false).weight : embedding.table;
  if (!names.bias.empty()) {
    unembedding.linear.bias = tensors.head_bias(names.bias, vocabulary, family.kind == StackKind::Encoder);
  }
  return unembedding;
}

PositionBias read_buckets(const Settings& settings, Names names, std::uint32_t heads, bool is_bidirectional,
                          FamilyTensors& tensors) {
  constexpr std::uint32_t kMaxBuckets = 4096, kMaxDistance = 1u << 20;
  const std::uint32_t buckets = settings.count("relative_attention_num_buckets", 32, kMaxBuckets, 4);
  const std::uint32_t distance = settings.count("relative_attention_max_distance", 128, kMaxDistance);
  if (distance <= buckets / 2) settings.refuse("relative_attention_max_distance", fmt::format("more than {}", buckets / 2));
  return {.kind = PositionBias::Kind::Buckets,
          .table = tensors.weight(names, {buckets, heads}).tensor(),
          .max_distance = distance,
          .is_bidirectional = is_bidirectional};
}

void add_positions(const Family& family, const Settings& settings, const Sizes& sizes, FamilyTensors& tensors,
                   Layers& layers) {
  if (family.positions == Positions::Rotary) {
    layers.rotaries.push_back(read_rotary(settings, family, sizes.encoder.d_k, sizes.max_length, false));
    if (sizes.has_local_rotary)
      layers.rotaries.push_back(read_rotary(settings, family, sizes.encoder.d_k, sizes.max_length, true));
  } else if (family.positions == Positions::Alibi) {
    layers.position_biases.push_back({.kind = PositionBias::Kind::Slopes, .table = alibi_slopes(sizes.encoder.heads)});
  } else if (family.positions == Positions::Buckets) {
    layers.position_biases = {read_buckets(settings, family.encoder.position_bias, sizes.encoder.heads, true, tensors),
                              read_buckets(settings, family.decoder.position_bias, sizes.decoder.heads, false, tensors)};
  }
}

/// Models like T5EncoderModel and BartForCausalLM store one of two stacks.
void expect_both_stacks(const Family& family, const FamilyTensors& tensors) {
  const auto has_first_layer = [&](const StackNames& stack) {
    const std::size_t hole = stack.layer.find("{}");
    return tensors.has(fmt::format("{}0{}{}", stack.layer.substr(0, hole), stack.layer.substr(hole + 2), stack.self.query));
  };
  if (family.kind != StackKind::EncoderDecoder) return;
  const bool has_encoder = has_first_layer(family.encoder);
  if (has_encoder == has_first_layer(family.decoder)) return;
  throw Error("{} holds only the {} of a {}: open the whole model, whose files have the {} too",
              tensors.checkpoint().path().string(), has_encoder ? "encoder" : "decoder", family.name,
              has_encoder ? "decoder" : "encoder");
}

}  // namespace

Network build_network(const Family& family, const Settings& settings, const Sizes& sizes, FamilyTensors& tensors) {
  expect_both_stacks(family, tensors);
  Network network;
  network.source_embedding =
      std::make_shared<Embedding>(build_embedding(family, family.encoder, sizes, sizes.vocabulary, tensors));
  auto layers = std::make_shared<Layers>();
  add_positions(family, settings, sizes, tensors, *layers);
  const LayerBuilder builder(family, sizes, tensors);
  for (std::uint32_t i = 0; i < sizes.encoder.layers; ++i) layers->encoder.push_back(builder.layer(i));
  const auto final_norm = [&](const StackNames& names) -> std::optional<Norm> {
    if (names.final_norm.empty() || !sizes.has_final_norm) return std::nullopt;
    Norm norm = tensors.norm(names.final_norm, sizes.d_model);
    norm.epsilon = sizes.epsilon;
    return norm;
  };
  layers->encoder_norm = final_norm(family.encoder);

  if (family.kind == StackKind::EncoderDecoder) {
    network.target_embedding =
        std::make_shared<Embedding>(build_embedding(family, family.decoder, sizes, sizes.target_vocabulary, tensors));
    const auto bias = layers->position_biases.empty() ? std::optional<std::uint32_t>() : 1;
    for (std::uint32_t i = 0; i < sizes.decoder.layers; ++i) layers->decoder.push_back(builder.decoder_layer(i, bias));
    layers->decoder_norm = final_norm(family.decoder);
  }
  const Embedding& embedding = network.target_embedding ? *network.target_embedding : *network.source_embedding;
  layers->unembedding = build_unembedding(family, sizes, embedding, tensors);
  network.layers = std::move(layers);
  return network;
}

}  // namespace headlight::model
