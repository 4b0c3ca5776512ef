#include "inference/random_network.h"

#include <algorithm>
#include <cmath>

namespace headlight::test {
namespace {

/// Parts that are equal in every layer of a network.
struct Style {
  std::uint32_t d_model = 1;
  bool has_bias = true, has_output = true, has_norm = true, has_feed_forward = true;
};

model::Norm random_norm(Random& random, std::uint32_t width) {
  return {.weight = random.tensor({width}, 2.0f), .bias = random.tensor({width})};
}

model::FeedForward random_feed_forward(Random& random, const Style& style, std::uint32_t inner, bool has_gate) {
  model::FeedForward feed_forward{.in = random_linear(random, style.d_model, inner, style.has_bias),
                                  .out = random_linear(random, inner, style.d_model, style.has_bias)};
  if (has_gate) feed_forward.gate = random_linear(random, style.d_model, inner, style.has_bias);
  return feed_forward;
}

model::Experts random_experts(Random& random, const Style& style) {
  const std::uint32_t count = random.between(1, 6), inner = random.between(1, 20);
  const bool has_gate = random.chance(0.5);
  model::Experts experts{.router = random_linear(random, style.d_model, count, style.has_bias),
                         .experts = {},
                         .per_token = random.between(1, count),
                         .gates_sum_to_one = random.chance(0.5)};
  for (std::uint32_t e = 0; e < count; ++e) {
    experts.experts.push_back(random_feed_forward(random, style, inner, has_gate));
  }
  if (random.chance(0.3)) experts.shared = random_feed_forward(random, style, random.between(1, 20), true);
  if (experts.shared && random.chance(0.5)) experts.shared_gate = random_linear(random, style.d_model, 1, false);
  return experts;
}

model::AttentionLayer random_layer(Random& random, const Style& style) {
  model::AttentionConfig config{
      .d_model = style.d_model, .heads = random.between(1, 4), .d_k = random.between(1, 9), .d_v = random.between(1, 9)};
  if (!style.has_output) {  // then heads·d_v must be d_model again
    config.heads = random.pick({1u, style.d_model});
    config.d_v = style.d_model / config.heads;
  }
  if (random.chance(0.2)) config.scale = {.kind = model::Scale::Kind::None};
  if (random.chance(0.2)) config.scale = {.kind = model::Scale::Kind::Value, .value = random.number()};
  if (random.chance(0.2)) config.merge = model::MergeOrder::WithoutTranspose;
  model::AttentionLayer layer{.config = config, .weights = random_weights(random, config, style.has_bias, style.has_output)};
  if (style.has_norm) layer.norms.after = random_norm(random, style.d_model);
  if (style.has_feed_forward) {
    if (random.chance(0.3)) {
      layer.experts = random_experts(random, style);
    } else {
      layer.feed_forward = random_feed_forward(random, style, random.between(1, 20), false);
    }
    layer.feed_forward_norms.after = random_norm(random, style.d_model);
  }
  return layer;
}

}  // namespace

model::Linear random_linear(Random& random, std::uint32_t in, std::uint32_t out, bool has_bias) {
  const float range = std::sqrt(3.0f / static_cast<float>(in));
  model::Linear linear{.weight = random.tensor({out, in}, range)};
  if (has_bias) linear.bias = random.tensor({out}, 0.5f);
  return linear;
}

model::AttentionWeights random_weights(Random& random, const model::AttentionConfig& config, bool has_bias,
                                       bool has_output) {
  model::AttentionWeights weights{.query = random_linear(random, config.d_model, config.heads * config.d_k, has_bias),
                                  .key = random_linear(random, config.d_model, config.heads * config.d_k, has_bias),
                                  .value = random_linear(random, config.d_model, config.heads * config.d_v, has_bias)};
  if (has_output) weights.output = random_linear(random, config.heads * config.d_v, config.d_model, has_bias);
  return weights;
}

model::TokenBatch random_tokens(Random& random, std::uint32_t batch, std::uint32_t length, std::uint32_t d_model) {
  model::TokenBatch tokens{.batch = batch, .length = length};
  for (std::uint32_t item = 0; item < batch; ++item)
    tokens.lengths.push_back(item == 0 ? length : random.between(1, length));
  tokens.vectors = random.tensor({batch, length, d_model});
  return tokens;
}

std::shared_ptr<const model::Network> single_layer(const model::AttentionConfig& config, model::AttentionWeights weights) {
  model::Layers layers;
  layers.encoder.push_back({.config = config, .weights = std::move(weights)});
  model::Network network;
  network.layers = std::make_shared<model::Layers>(std::move(layers));
  return std::make_shared<model::Network>(std::move(network));
}

NetworkCase random_network(Random& random) {
  Style style{.d_model = random.between(1, 24),
              .has_bias = random.chance(0.7),
              .has_output = random.chance(0.7),
              .has_norm = random.chance(0.7),
              .has_feed_forward = random.chance(0.5)};
  model::Layers layers;
  const std::uint32_t kind = random.below(3);  // encoder, encoder–decoder, cross-attention only
  const std::uint32_t depth = random.between(1, 3);
  for (std::uint32_t i = 0; i < depth; ++i) {
    if (kind != 2) layers.encoder.push_back(random_layer(random, style));
    if (kind == 0) continue;
    model::DecoderLayer& layer = layers.decoder.emplace_back();
    if (kind == 1) {
      layer.self = random_layer(random, style);
      layer.self->feed_forward.reset();
      layer.self->experts.reset();
      layer.self->feed_forward_norms = {};
    }
    layer.cross = random_layer(random, style);
  }
  if (random.chance(0.4)) {
    layers.unembedding = {.linear = random_linear(random, style.d_model, random.between(1, 30), style.has_bias)};
  }
  NetworkCase one;
  const std::uint32_t batch = random.between(1, 3);
  one.input.source = random_tokens(random, batch, random.between(1, 20), style.d_model);
  if (kind != 0) one.input.target = random_tokens(random, batch, random.between(1, 20), style.d_model);
  model::Network network;
  network.layers = std::make_shared<model::Layers>(std::move(layers));
  one.network = std::make_shared<model::Network>(std::move(network));
  one.masks = random_masks(random, *one.network, one.input);
  return one;
}

attention::MaskSet random_masks(Random& random, const model::Network& network, const model::ModelInput& input) {
  attention::MaskSet masks;
  const auto fill = random.pick(
      {attention::MaskFill::NegativeInfinity, attention::MaskFill::MinusOneBillion, attention::MaskFill::MinusTenBillion});
  for (attention::MaskSpec& mask : masks.by_kind) mask.fill = fill;
  for (const model::BlockRef block : network.blocks()) {
    if (block.layer.value > 0) continue;
    attention::MaskSpec& mask = masks[block.kind];
    const std::uint32_t queries = input.queries(block.kind).length, keys = input.keys(block.kind).length;
    const std::uint32_t batch = input.queries(block.kind).batch;
    mask.rule = {.causal = random.chance(0.4),
                 .window = random.chance(0.3) ? random.between(1, keys + 1) : 0,
                 .prefix = random.chance(0.3) ? random.between(1, keys + 1) : 0,
                 .key_padding = random.chance(0.8)};
    if (random.chance(0.3)) {
      // The matrix is the same for every head: layers may have different numbers of them.
      attention::BooleanMask matrix{.batch = random.pick({1u, batch}), .queries = queries, .keys = keys, .keep = {}};
      for (std::size_t i = 0; i < std::size_t{matrix.batch} * queries * keys; ++i) {
        matrix.keep.push_back(random.chance(0.7) ? 1 : 0);
      }
      mask.matrix = std::move(matrix);
    }
    for (std::uint32_t cells = random.chance(0.4) ? random.below(10) : 0; cells > 0; --cells) {
      attention::PaintScope scope;
      if (random.chance(0.4)) scope.layer = random.below(2);
      if (random.chance(0.4)) scope.batch = random.below(batch);
      if (random.chance(0.4)) scope.head = random.below(3);
      const bool is_visible = random.chance(0.5);
      mask.painted[scope].paint({random.below(queries), random.below(keys)}, is_visible);
      if (random.chance(0.5)) mask.biases[scope].paint({random.below(queries), random.below(keys)}, random.number(3.0f));
    }
    if (random.chance(0.2)) attention::set_documents(mask, random.below(batch), {random.below(queries), random.below(keys)});
  }
  return masks;
}

namespace {

/// Numbers of a token at a site of a layer, 0 where it has no such site.
std::uint32_t width_at(model::Site site, const model::AttentionLayer& layer) {
  using model::Site;
  const bool has_output = layer.weights && layer.weights->output;
  if (site == Site::Residual) return layer.weights ? layer.config.d_model : 0;
  if (site == Site::AttentionOutput) return has_output ? layer.weights->output->out() : 0;
  if (site == Site::FeedForward) return layer.has_feed_forward() ? layer.config.d_model : 0;
  if (site == Site::Inner) return layer.feed_forward ? layer.feed_forward->in.out() : 0;
  return site == Site::Query || site == Site::Key ? layer.config.d_k : layer.config.d_v;
}

}  // namespace

inference::Intervention random_intervention(Random& random, const model::Network& network) {
  using model::Site;
  const auto blocks = network.blocks();
  const model::BlockRef block = blocks[random.below(static_cast<std::uint32_t>(blocks.size()))];
  inference::Intervention one;
  const inference::Dropout dropout{.probability = random.pick({0.1f, 0.5f}), .seed = random.below(3)};
  if (random.chance(0.05)) return {Site::Weights, {.kind = block.kind}, dropout};
  if (random.chance(0.2)) {
    using attention::FixedPattern;
    const FixedPattern pattern =
        random.pick({FixedPattern::Uniform, FixedPattern::Diagonal, FixedPattern::Previous, FixedPattern::First});
    one = {Site::Weights, {.kind = block.kind, .layer = block.layer.value}, inference::ReplacePattern{pattern}};
    if (random.chance(0.3)) {
      one.operation =
          inference::ReplacePattern{{FixedPattern::Painted, attention::NumberRuns{{{random.below(5), random.below(5)}, 0.5f},
                                                                                  {{random.below(5), random.below(5)}, 1.0f},
                                                                                  {{3, random.below(4)}, 0.125f}}}};
    }
    if (random.chance(0.8)) one.scope.head = random.below(network.layer(block).config.heads);
    return one;
  }
  one.site = random.pick({Site::Query, Site::Key, Site::Value, Site::HeadOutput, Site::Residual, Site::AttentionOutput,
                          Site::FeedForward, Site::Inner});
  if (width_at(one.site, network.layer(block)) == 0) one.site = Site::HeadOutput;
  if (random.chance(0.8)) one.scope.kind = block.kind;
  if (random.chance(0.8)) one.scope.layer = block.layer.value;
  const bool is_of_keys = one.site == Site::Key || one.site == Site::Value;
  std::uint32_t heads = ~0u, width = 0;  // as all covered blocks have them
  bool has_one_width = true;
  for (const model::BlockRef other : blocks) {
    if (!one.scope.covers(other)) continue;
    const model::AttentionConfig& config = network.layer(other).config;
    const std::uint32_t of_other = width_at(one.site, network.layer(other));
    if (of_other == 0) continue;
    const std::uint32_t all = !model::has_heads(one.site) ? 1 : is_of_keys ? config.kv_head_count() : config.heads;
    heads = std::min(heads, all);
    has_one_width = has_one_width && (width == 0 || width == of_other);
    width = of_other;
  }
  if (random.chance(0.7)) one.scope.head = random.below(heads);
  if (random.chance(0.2)) one.scope.item = random.below(2);
  one.operation = inference::Scale{random.pick({0.0f, 0.5f, -1.5f, 1.0f})};
  if (has_one_width && random.chance(0.5)) one.operation = inference::Add{random.tensor({width}).values};
  if (has_one_width && random.chance(0.4)) {
    one.operation = inference::Replace{
        .item = random.below(2), .first = random.below(4), .rows = random.tensor({random.between(1, 3), width}).values};
  }
  if (random.chance(0.1)) one.operation = dropout;
  return one;
}

}  // namespace headlight::test
