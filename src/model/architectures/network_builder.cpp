#include "model/architectures/tensors.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "core/error.h"
#include "model/architectures/families.h"
#include "model/reference.h"

namespace headlight::model {
namespace {

/// Builds a family's layers from its tensors.
class LayerBuilder {
 public:
  LayerBuilder(const Family& family, const Sizes& sizes, FamilyTensors& tensors)
      : family_(family), sizes_(sizes), tensors_(tensors) {}

  /// Layer `number` of the encoder or of the only stack.
  AttentionLayer layer(std::uint32_t number) const;
  /// Layer `number` of the decoder.
  DecoderLayer decoder_layer(std::uint32_t number) const;

 private:
  /// Full names of `names` in one layer, without the family's prefix.
  std::string in_layer(const StackNames& stack, std::uint32_t number, Names names) const;
  AttentionLayer attention(const StackNames& stack, std::uint32_t number, const AttentionNames& names,
                           AttentionConfig config) const;
  void add_feed_forward(const StackNames& stack, std::uint32_t number, std::uint32_t d_ff, AttentionLayer& layer) const;
  FeedForward feed_forward(const StackNames& stack, std::uint32_t number, const FeedForwardNames& names,
                           std::uint32_t d_ff) const;
  Experts experts(const StackNames& stack, std::uint32_t number) const;
  /// The weights [out, in] of each expert.
  std::vector<Parameter> expert_weights(const std::string& names, std::uint32_t out, std::uint32_t in) const;
  BranchNorms norms(const StackNames& stack, std::uint32_t number, Names norm, Names inside) const;
  Norm norm(const std::string& name, std::uint32_t width) const;
  AttentionConfig config(const StackSizes& stack) const;

  const Family& family_;
  const Sizes& sizes_;
  FamilyTensors& tensors_;
};

/// The names with a layer's number in place of "{}".
std::string numbered(Names names, std::uint32_t number) {
  std::string all;
  for_each_name(names, [&](std::string_view name) {
    const std::size_t hole = name.find("{}");
    all += all.empty() ? "" : "|";
    all += hole == std::string_view::npos ? std::string(name)
                                          : fmt::format("{}{}{}", name.substr(0, hole), number, name.substr(hole + 2));
  });
  return all;
}

bool has_bias_in_each_layer(const StackNames& stack) { return stack.position_bias.find("{}") != Names::npos; }

std::string LayerBuilder::in_layer(const StackNames& stack, std::uint32_t number, Names names) const {
  const std::uint32_t stored = sizes_.groups == 0 ? number : number / (sizes_.encoder.layers / sizes_.groups);
  std::string whole;
  for_each_name(numbered(stack.layer, stored), [&](std::string_view prefix) {
    for_each_name(names,
                  [&](std::string_view name) { whole += fmt::format("{}{}{}", whole.empty() ? "" : "|", prefix, name); });
  });
  return whole;
}

Norm LayerBuilder::norm(const std::string& name, std::uint32_t width) const { return tensors_.norm(name, width, sizes_); }

BranchNorms LayerBuilder::norms(const StackNames& stack, std::uint32_t number, Names outer, Names inside) const {
  BranchNorms norms{.scale = sizes_.residual_scale};
  if (!outer.empty()) {
    (sizes_.norm_position == NormPosition::Before ? norms.before : norms.after) =
        norm(in_layer(stack, number, outer), sizes_.d_model);
  }
  if (!inside.empty()) norms.inside = norm(in_layer(stack, number, inside), sizes_.d_model);
  norms.is_bare_residual = outer.empty() && inside.empty();
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
  if (names.fused.empty() || (!names.query.empty() && !tensors_.has(whole(names.fused)))) {
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
    return tensors_.head_norm(whole(name), heads, config.d_k, sizes_);
  };
  weights.query_norm = head_norm(names.query_norm, config.heads);
  weights.key_norm = head_norm(names.key_norm, config.kv_head_count());
  const auto of_distances = [&](bool is_used, Names name) -> std::optional<Linear> {
    if (!is_used || name.empty() || sizes_.shares_projections) return std::nullopt;
    return tensors_.linear(whole(name), queries, config.d_model, true);
  };
  weights.position_query = of_distances(config.has_position_content, names.position_query);
  weights.position_key = of_distances(config.has_content_position, names.position_key);
  const bool is_bare = number == 0 && family_.skips_first_norm;
  return {.config = config,
          .weights = std::move(weights),
          .norms = norms(stack, number, is_bare ? "" : names.norm, names.inside_norm)};
}

FeedForward LayerBuilder::feed_forward(const StackNames& stack, std::uint32_t number, const FeedForwardNames& names,
                                       std::uint32_t d_ff) const {
  const auto linear = [&](Names name, std::uint32_t out, std::uint32_t in) {
    return tensors_.linear(in_layer(stack, number, name), out, in, sizes_.biases.feed_forward);
  };
  FeedForward feed_forward;
  feed_forward.activation = sizes_.activation;
  if (!names.gate_and_in.empty()) {
    const Linear both = linear(names.gate_and_in, 2 * d_ff, sizes_.d_model);
    feed_forward.gate = both.rows(0, d_ff);
    feed_forward.in = both.rows(d_ff, d_ff);
  } else {
    feed_forward.in = linear(names.in, d_ff, sizes_.d_model);
    if (sizes_.is_gated) feed_forward.gate = linear(names.gate, d_ff, sizes_.d_model);
  }
  feed_forward.out = linear(names.out, sizes_.d_model, d_ff);
  return feed_forward;
}

std::vector<Parameter> LayerBuilder::expert_weights(const std::string& names, std::uint32_t out, std::uint32_t in) const {
  std::vector<Parameter> weights;
  const std::optional<Parameter> all = tensors_.expert_weights(names, sizes_.experts.count, out, in);
  std::string each;  // the names with a place for the expert's number
  for_each_name(names, [&](std::string_view name) {
    if (name.find("{}") != Names::npos) each += fmt::format("{}{}", each.empty() ? "" : "|", name);
  });
  for (std::uint32_t expert = 0; expert < sizes_.experts.count; ++expert) {
    weights.push_back(all ? all->rows(expert * out, out)
                          : tensors_.linear(each.empty() ? names : numbered(each, expert), out, in, false).weight);
  }
  return weights;
}

Experts LayerBuilder::experts(const StackNames& stack, std::uint32_t number) const {
  const ExpertNames& names = stack.experts;
  const ExpertSizes& sizes = sizes_.experts;
  const std::uint32_t d_ff = sizes.d_ff, d_model = sizes_.d_model;
  const auto whole = [&](Names name) { return in_layer(stack, number, name); };
  Experts experts{.router = tensors_.linear(whole(names.router), sizes.count, d_model, false),
                  .experts = std::vector<FeedForward>(sizes.count),
                  .per_token = sizes.per_token,
                  .gates_sum_to_one = sizes.gates_sum_to_one};
  const std::optional<Parameter> both =
      names.gate_and_in.empty() ? std::nullopt
                                : tensors_.expert_weights(whole(names.gate_and_in), sizes.count, 2 * d_ff, d_model);
  const std::vector<Parameter> out = expert_weights(whole(names.out), d_model, d_ff);
  std::vector<Parameter> in, gate;
  if (!both) {
    in = expert_weights(whole(names.in), d_ff, d_model);
    gate = expert_weights(whole(names.gate), d_ff, d_model);
  }
  for (std::uint32_t e = 0; e < sizes.count; ++e) {
    experts.experts[e] = {.in = {.weight = both ? both->rows((2 * e + 1) * d_ff, d_ff) : in[e]},
                          .out = {.weight = out[e]},
                          .gate = Linear{.weight = both ? both->rows(2 * e * d_ff, d_ff) : gate[e]},
                          .activation = sizes_.activation};
  }
  if (!names.shared.in.empty()) {
    experts.shared = feed_forward(stack, number, names.shared, sizes.shared_d_ff);
    experts.shared_gate = tensors_.single_output(whole(names.shared_gate), d_model);
  }
  return experts;
}

void LayerBuilder::add_feed_forward(const StackNames& stack, std::uint32_t number, std::uint32_t d_ff,
                                    AttentionLayer& layer) const {
  const FeedForwardNames& names = stack.feed_forward;
  if (&stack == &family_.encoder && sizes_.has_experts[number]) {
    layer.experts = experts(stack, number);
  } else {
    layer.feed_forward = feed_forward(stack, number, names, d_ff);
  }
  const bool has_own = layer.is_parallel && !names.parallel_norm.empty();
  layer.feed_forward_norms = norms(stack, number, has_own ? names.parallel_norm : names.norm, names.inside_norm);
}

AttentionLayer LayerBuilder::layer(std::uint32_t number) const {
  AttentionConfig config = this->config(sizes_.encoder);
  config.scale = sizes_.scales[number];
  config.window = sizes_.windows[number];
  // Layers with a window use the second set of RoPE frequencies where the family has two.
  if (sizes_.positions == Positions::Rotary && sizes_.rotates[number])
    config.rotary = sizes_.has_local_rotary && config.window != 0 ? 1 : 0;
  if (sizes_.positions == Positions::Alibi) config.position_bias = 0;
  if (!family_.encoder.position_bias.empty()) config.position_bias = has_bias_in_each_layer(family_.encoder) ? number : 0;
  if (sizes_.distances) config.distances = family_.encoder.distances.find("{}") == Names::npos ? 0 : number;
  config.has_content_position = sizes_.has_content_position;
  config.has_position_content = sizes_.has_position_content;
  AttentionLayer layer = attention(family_.encoder, number, family_.encoder.self, config);
  layer.is_parallel = sizes_.is_parallel;
  add_feed_forward(family_.encoder, number, sizes_.encoder.d_ff, layer);
  return layer;
}

DecoderLayer LayerBuilder::decoder_layer(std::uint32_t number) const {
  AttentionConfig config = this->config(sizes_.decoder);
  DecoderLayer layer;
  layer.cross = attention(family_.decoder, number, family_.decoder.cross, config);
  // The encoder's tables come first.
  if (!family_.decoder.position_bias.empty())
    config.position_bias = has_bias_in_each_layer(family_.decoder) ? sizes_.encoder.layers + number : 1;
  layer.self = attention(family_.decoder, number, family_.decoder.self, config);
  add_feed_forward(family_.decoder, number, sizes_.decoder.d_ff, layer.cross);
  return layer;
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

PositionBias read_buckets(const Settings& settings, const Family& family, Names names, std::uint32_t heads,
                          bool is_bidirectional, FamilyTensors& tensors) {
  constexpr std::uint32_t kMaxBuckets = 4096, kMaxDistance = 1u << 20;
  constexpr Names kBuckets = "relative_attention_num_buckets|attention.relative_buckets_count";
  const std::uint32_t buckets = settings.count(kBuckets, 32, kMaxBuckets, 4);
  const std::uint32_t distance = settings.count("relative_attention_max_distance", 128, kMaxDistance);
  const std::uint32_t used = family.buckets == 0 ? buckets : family.buckets;
  if (used > buckets) settings.refuse(kBuckets, fmt::format("at least {}", used));
  if (distance <= used / 2) settings.refuse("relative_attention_max_distance", fmt::format("more than {}", used / 2));
  return {.kind = PositionBias::Kind::Buckets,
          .table = tensors.weight(names, {buckets, heads}).rows(0, used).tensor(),
          .max_distance = distance,
          .is_bidirectional = is_bidirectional};
}

void add_position_biases(const Family& family, const Settings& settings, const Sizes& sizes, FamilyTensors& tensors,
                         Layers& layers) {
  const auto add = [&](const StackNames& names, const StackSizes& stack, bool is_bidirectional) {
    if (names.position_bias.empty() || stack.layers == 0) return;
    for (std::uint32_t layer = 0; layer < (has_bias_in_each_layer(names) ? stack.layers : 1); ++layer) {
      layers.position_biases.push_back(
          read_buckets(settings, family, numbered(names.position_bias, layer), stack.heads, is_bidirectional, tensors));
    }
  };
  add(family.encoder, sizes.encoder, true);
  add(family.decoder, sizes.decoder, false);
  if (sizes.positions != Positions::Alibi) return;
  PositionBias bias{.kind = PositionBias::Kind::Slopes, .table = alibi_slopes(sizes.encoder.heads)};
  if (family.rounds_alibi) {
    bias.kind = PositionBias::Kind::KeySlopes;
    bias.factor = static_cast<float>(1.0 / std::sqrt(static_cast<double>(sizes.encoder.d_k)));
  }
  layers.position_biases.push_back(std::move(bias));
}

/// One table for all layers, or one for each.
void add_distances(const Family& family, const Sizes& sizes, FamilyTensors& tensors, Layers& layers) {
  if (!sizes.distances) return;
  const Names names = family.encoder.distances;
  const std::uint32_t width = sizes.distances->is_projected ? sizes.d_model : sizes.encoder.d_k;
  const bool is_in_each_layer = names.find("{}") != Names::npos;
  for (std::uint32_t layer = 0; layer < (is_in_each_layer ? sizes.encoder.layers : 1); ++layer) {
    DistanceVectors& distances = layers.distances.emplace_back(*sizes.distances);
    distances.table = tensors.weight(numbered(names, layer), {sizes.distance_rows, width}).tensor();
    if (!sizes.norms_distances) continue;
    const Norm norm = tensors.norm(family.encoder.distance_norm, width, sizes);
    const reference::Array normed = reference::apply(norm, reference::widen(distances.table));
    std::ranges::transform(normed.values, distances.table.values.begin(),
                           [](double number) { return static_cast<float>(number); });
  }
}

void add_rotaries(const Family& family, const Settings& settings, const Sizes& sizes, FamilyTensors& tensors,
                  Layers& layers) {
  if (sizes.positions != Positions::Rotary) return;
  for (const bool is_local : {false, true}) {
    if (is_local && !sizes.has_local_rotary) continue;
    Rotary& rotary =
        layers.rotaries.emplace_back(read_rotary(settings, family, sizes.encoder.d_k, sizes.encoder.max_length, is_local));
    const std::optional<Parameter> stored = tensors.frequencies(family.encoder.frequencies, rotary.dimensions / 2);
    if (!stored) continue;
    const Tensor frequencies = stored->tensor();
    rotary.inverse_frequencies.assign(frequencies.values.begin(), frequencies.values.end());
  }
}

}  // namespace

StackKind stored_kind(const Family& family, const FamilyTensors& tensors) {
  const auto has_first_layer = [&](const StackNames& stack) {
    return tensors.has(fmt::format("{}{}", numbered(stack.layer, 0), stack.self.query));
  };
  if (family.kind != StackKind::EncoderDecoder) return family.kind;
  const bool has_encoder = has_first_layer(family.encoder), has_decoder = has_first_layer(family.decoder);
  if (has_decoder && !has_encoder) {
    throw Error("{} holds only the decoder of a {}: open the whole model, whose files have the encoder too",
                utf8(tensors.checkpoint().path()), family.name);
  }
  return has_encoder && !has_decoder ? StackKind::Encoder : family.kind;
}

void find_parts(const Family& family, const FamilyTensors& tensors, Sizes& sizes) {
  if (!family.finds_parts) return;
  const StackNames& stack = family.encoder;
  const auto any = [&](Names names, bool (FamilyTensors::*has)(Names) const) {
    bool is_found = false;
    for_each_name(names, [&](std::string_view name) {
      is_found = is_found || (tensors.*has)(fmt::format("{}{}", numbered(stack.layer, 0), name));
    });
    return is_found;
  };
  const auto find_bias = [&](bool by_default, Names key, Names names) {
    return (by_default && key.empty()) || any(names, &FamilyTensors::has_bias);
  };
  const Biases& own = family.biases;
  const Names projections_key = own.projections_key.empty() ? own.attention_key : own.projections_key;
  const Names output_key = own.output_key.empty() ? own.attention_key : own.output_key;
  const std::string projections = fmt::format("{}|{}", stack.self.query, stack.self.fused);
  sizes.biases.projections = find_bias(own.projections, projections_key, projections);
  sizes.biases.output = find_bias(own.output, output_key, stack.self.output);
  sizes.biases.feed_forward = find_bias(own.feed_forward, own.feed_forward_key, stack.feed_forward.out);
  sizes.biases.norms = find_bias(own.norms, own.norm_key, stack.self.norm);
  const FeedForwardNames& feed_forward = stack.feed_forward;
  if (!family.head_norms_key.empty()) sizes.has_head_norms = any(stack.self.query_norm, &FamilyTensors::has);
  if (!feed_forward.parallel_norm.empty()) sizes.is_parallel = !any(feed_forward.norm, &FamilyTensors::has);
}

Network build_network(const Family& family, const Settings& settings, const Sizes& sizes, FamilyTensors& tensors) {
  Network network;
  network.source_embedding = std::make_shared<Embedding>(
      build_embedding(family, family.encoder, sizes, sizes.vocabulary, sizes.encoder.max_length, tensors));
  auto layers = std::make_shared<Layers>();
  add_rotaries(family, settings, sizes, tensors, *layers);
  add_position_biases(family, settings, sizes, tensors, *layers);
  add_distances(family, sizes, tensors, *layers);
  const LayerBuilder builder(family, sizes, tensors);
  for (std::uint32_t i = 0; i < sizes.encoder.layers; ++i) layers->encoder.push_back(builder.layer(i));
  const auto final_norm = [&](const StackNames& names) -> std::optional<Norm> {
    if (names.final_norm.empty() || !sizes.has_final_norm) return std::nullopt;
    return tensors.norm(names.final_norm, sizes.d_model, sizes);
  };
  layers->encoder_norm = final_norm(family.encoder);

  if (sizes.kind == StackKind::EncoderDecoder) {
    network.target_embedding = std::make_shared<Embedding>(
        build_embedding(family, family.decoder, sizes, sizes.target_vocabulary, sizes.decoder.max_length, tensors));
    for (std::uint32_t i = 0; i < sizes.decoder.layers; ++i) layers->decoder.push_back(builder.decoder_layer(i));
    layers->decoder_norm = final_norm(family.decoder);
  }
  const Embedding& embedding = network.target_embedding ? *network.target_embedding : *network.source_embedding;
  layers->unembedding = build_unembedding(family, sizes, embedding, tensors);
  network.layers = std::move(layers);
  return network;
}

}  // namespace headlight::model
