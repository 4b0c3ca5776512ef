#include "model/architectures/tensors.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "core/error.h"
#include "model/architectures/families.h"

namespace headlight::model {
namespace {

/// Builds a family's layers from its tensors.
class LayerBuilder {
 public:
  LayerBuilder(const Family& family, const Sizes& sizes, FamilyTensors& tensors)
      : family_(family), sizes_(sizes), tensors_(tensors) {}

  /// Layer `number` of the encoder or of the only stack.
  AttentionLayer layer(std::uint32_t number) const;
  /// Layer `number` of the decoder, whose self-attention adds position bias `bias` when it has one.
  DecoderLayer decoder_layer(std::uint32_t number, std::optional<std::uint32_t> bias) const;

 private:
  /// Full names of `names` in one layer, without the family's prefix.
  std::string in_layer(const StackNames& stack, std::uint32_t number, Names names) const;
  AttentionLayer attention(const StackNames& stack, std::uint32_t number, const AttentionNames& names,
                           AttentionConfig config) const;
  void add_feed_forward(const StackNames& stack, std::uint32_t number, std::uint32_t d_ff, AttentionLayer& layer) const;
  BranchNorms norms(const StackNames& stack, std::uint32_t number, Names norm, Names inside) const;
  Norm norm(const std::string& name, std::uint32_t width) const;
  AttentionConfig config(const StackSizes& stack) const;

  const Family& family_;
  const Sizes& sizes_;
  FamilyTensors& tensors_;
};

std::string LayerBuilder::in_layer(const StackNames& stack, std::uint32_t number, Names names) const {
  const std::uint32_t stored = sizes_.groups == 0 ? number : number / (sizes_.encoder.layers / sizes_.groups);
  const std::size_t hole = stack.layer.find("{}");
  std::string whole;
  for_each_name(names, [&](std::string_view name) {
    whole += fmt::format("{}{}{}{}{}", whole.empty() ? "" : "|", stack.layer.substr(0, hole), stored,
                         stack.layer.substr(hole + 2), name);
  });
  return whole;
}

Norm LayerBuilder::norm(const std::string& name, std::uint32_t width) const {
  Norm norm = tensors_.norm(name, width);
  norm.epsilon = sizes_.epsilon;
  return norm;
}

BranchNorms LayerBuilder::norms(const StackNames& stack, std::uint32_t number, Names outer, Names inside) const {
  BranchNorms norms{.scale = sizes_.residual_scale};
  if (!outer.empty()) {
    (sizes_.norm_position == NormPosition::Before ? norms.before : norms.after) =
        norm(in_layer(stack, number, outer), sizes_.d_model);
  }
  if (!inside.empty()) norms.inside = norm(in_layer(stack, number, inside), sizes_.d_model);
  return norms;
}

AttentionConfig LayerBuilder::config(const StackSizes& stack) const {
  return {.d_model = sizes_.d_model,
          .heads = stack.heads,
          .d_k = stack.d_k,
          .d_v = stack.d_k,
          .scale = {.kind = family_.scales_attention ? Scale::Kind::InverseSqrtKey : Scale::Kind::None},
          .kv_heads = stack.kv_heads == stack.heads ? 0 : stack.kv_heads,
          .clip = sizes_.clip,
          .softcap = sizes_.attention_softcap};
}

AttentionLayer LayerBuilder::attention(const StackNames& stack, std::uint32_t number, const AttentionNames& names,
                                       AttentionConfig config) const {
  const auto whole = [&](Names name) { return in_layer(stack, number, name); };
  const std::uint32_t queries = config.heads * config.d_k, keys = config.kv_head_count() * config.d_k;
  const bool has_bias = sizes_.biases.projections;
  AttentionWeights weights;
  if (names.fused.empty()) {
    weights = {.query = tensors_.linear(whole(names.query), queries, config.d_model, has_bias),
               .key = tensors_.linear(whole(names.key), keys, config.d_model, has_bias),
               .value = tensors_.linear(whole(names.value), keys, config.d_model, has_bias)};
  } else {
    weights = split_fused(tensors_.linear(whole(names.fused), queries + 2 * keys, config.d_model, has_bias),
                          sizes_.is_multi_query ? FusedLayout::QueryKeyValue : names.fused_layout, config);
  }
  weights.output = tensors_.linear(whole(names.output), config.d_model, queries, sizes_.biases.output);
  const auto head_norm = [&](Names name, std::uint32_t heads) -> std::optional<Norm> {
    if (name.empty() || !sizes_.has_head_norms) return std::nullopt;
    Norm norm = tensors_.head_norm(whole(name), heads, config.d_k);
    norm.epsilon = sizes_.epsilon;
    return norm;
  };
  weights.query_norm = head_norm(names.query_norm, config.heads);
  weights.key_norm = head_norm(names.key_norm, config.kv_head_count());
  return {.config = config, .weights = std::move(weights), .norms = norms(stack, number, names.norm, names.inside_norm)};
}

void LayerBuilder::add_feed_forward(const StackNames& stack, std::uint32_t number, std::uint32_t d_ff,
                                    AttentionLayer& layer) const {
  const FeedForwardNames& names = stack.feed_forward;
  const auto linear = [&](Names name, std::uint32_t out, std::uint32_t in) {
    return tensors_.linear(in_layer(stack, number, name), out, in, sizes_.biases.feed_forward);
  };
  FeedForward feed_forward;
  feed_forward.activation = sizes_.activation;
  if (!names.gate_and_in.empty()) {
    const Linear both = linear(names.gate_and_in, 2 * d_ff, sizes_.d_model);
    feed_forward.gate = Linear{.weight = both.weight.rows(0, d_ff)};
    feed_forward.in = {.weight = both.weight.rows(d_ff, d_ff)};
  } else {
    feed_forward.in = linear(names.in, d_ff, sizes_.d_model);
    if (sizes_.is_gated) feed_forward.gate = linear(names.gate, d_ff, sizes_.d_model);
  }
  feed_forward.out = linear(names.out, sizes_.d_model, d_ff);
  layer.feed_forward = std::move(feed_forward);
  const bool has_own = layer.is_parallel && !names.parallel_norm.empty();
  layer.feed_forward_norms = norms(stack, number, has_own ? names.parallel_norm : names.norm, names.inside_norm);
}

AttentionLayer LayerBuilder::layer(std::uint32_t number) const {
  AttentionConfig config = this->config(sizes_.encoder);
  config.scale = sizes_.scales[number];
  config.window = sizes_.windows[number];
  // Layers with a window use the second set of RoPE frequencies where the family has two.
  if (sizes_.rotates[number]) config.rotary = sizes_.has_local_rotary && config.window != 0 ? 1 : 0;
  if (sizes_.positions == Positions::Alibi || sizes_.positions == Positions::Buckets) config.position_bias = 0;
  AttentionLayer layer = attention(family_.encoder, number, family_.encoder.self, config);
  layer.is_parallel = sizes_.is_parallel;
  add_feed_forward(family_.encoder, number, sizes_.encoder.d_ff, layer);
  return layer;
}

DecoderLayer LayerBuilder::decoder_layer(std::uint32_t number, std::optional<std::uint32_t> bias) const {
  AttentionConfig config = this->config(sizes_.decoder);
  DecoderLayer layer;
  layer.cross = attention(family_.decoder, number, family_.decoder.cross, config);
  config.position_bias = bias;
  layer.self = attention(family_.decoder, number, family_.decoder.self, config);
  add_feed_forward(family_.decoder, number, sizes_.decoder.d_ff, layer.cross);
  return layer;
}

/// Sines in the first half of a row, cosines in the second (Marian, Pegasus). Closed: their last frequency is 1/10000, and
/// the last column of an odd width is 0 (XGLM).
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
    embedding.positions = halved_sinusoid(sizes.max_length + sizes.position_offset, width, family.is_sinusoid_closed);
    embedding.position_offset = sizes.position_offset;
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
    unembedding.norm = tensors.unembedding_norm(names.norm, sizes.d_embedding);
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
  if (sizes.positions == Positions::Rotary) {
    layers.rotaries.push_back(read_rotary(settings, family, sizes.encoder.d_k, sizes.max_length, false));
    if (sizes.has_local_rotary)
      layers.rotaries.push_back(read_rotary(settings, family, sizes.encoder.d_k, sizes.max_length, true));
  } else if (sizes.positions == Positions::Alibi) {
    PositionBias bias{.kind = PositionBias::Kind::Slopes, .table = alibi_slopes(sizes.encoder.heads)};
    if (family.rounds_alibi) {
      bias.kind = PositionBias::Kind::KeySlopes;
      bias.factor = static_cast<float>(1.0 / std::sqrt(static_cast<double>(sizes.encoder.d_k)));
    }
    layers.position_biases.push_back(std::move(bias));
  } else if (sizes.positions == Positions::Buckets) {
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
