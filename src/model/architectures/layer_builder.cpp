#include "model/architectures/layer_builder.h"

#include <fmt/format.h>

#include "model/architectures/families.h"

namespace headlight::model {

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
  BranchNorms norms;
  (sizes_.norm_position == NormPosition::Before ? norms.before : norms.after) =
      norm(in_layer(stack, number, outer), sizes_.d_model);
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
                          names.fused_layout, config);
  }
  weights.output = tensors_.linear(whole(names.output), config.d_model, queries, sizes_.biases.output);
  if (!names.query_norm.empty()) weights.query_norm = norm(whole(names.query_norm), config.d_k);
  if (!names.key_norm.empty()) weights.key_norm = norm(whole(names.key_norm), config.d_k);
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
  layer.feed_forward_norms = norms(stack, number, names.norm, names.inside_norm);
}

AttentionLayer LayerBuilder::layer(std::uint32_t number) const {
  AttentionConfig config = this->config(sizes_.encoder);
  config.scale = sizes_.scales[number];
  config.window = sizes_.windows[number];
  // Layers with a window use the second set of RoPE frequencies where the family has two.
  if (sizes_.rotates[number]) config.rotary = sizes_.has_local_rotary && config.window != 0 ? 1 : 0;
  if (family_.positions == Positions::Alibi || family_.positions == Positions::Buckets) config.position_bias = 0;
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

}  // namespace headlight::model
