#include "inference/reference_run.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>

#include "core/error.h"

namespace headlight::model::reference {
namespace {

/// scale · a + b of equal shapes.
Array add(Array a, const Array& b, double scale) {
  for (std::size_t i = 0; i < a.values.size(); ++i) a.values[i] = scale * a.values[i] + b.values[i];
  return a;
}

Array multiply(const Arithmetic& arithmetic, const Linear& linear, const Array& x) {
  return arithmetic.multiply ? arithmetic.multiply(linear, x) : apply(linear, x);
}

/// Returns the inner layer of a feed-forward after the activation, times the gate where there is one. Hidden layer and
/// gate before the activation go into `stages`.
Array apply_inner(const FeedForward& feed_forward, const Array& x, AttentionStages& stages, const Arithmetic& arithmetic) {
  Array inner = multiply(arithmetic, feed_forward.in, x);
  stages.ffn_hidden = inner;
  if (feed_forward.gate) {
    Array gate = multiply(arithmetic, *feed_forward.gate, x);
    for (std::size_t i = 0; i < inner.values.size(); ++i)
      inner.values[i] *= activated(feed_forward.activation, gate.values[i]);
    stages.ffn_gate = std::move(gate);
  } else {
    for (double& value : inner.values) value = activated(feed_forward.activation, value);
  }
  return written(arithmetic, std::move(inner));
}

/// The softmax of the largest logits, 0 for the others [batch, token, expert].
Array route(const Experts& experts, const Array& logits) {
  Array gates = zeros(logits.shape);
  const std::size_t count = experts.count();
  std::vector<std::size_t> order(count);
  for (std::size_t at = 0; at < logits.values.size(); at += count) {
    const double* row = &logits.values[at];
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t expert) { return row[expert]; });
    double sum = 0.0;
    for (std::size_t n = 0; n < (experts.gates_sum_to_one ? experts.per_token : count); ++n) {
      sum += std::exp(row[order[n]] - row[order[0]]);
    }
    for (std::size_t n = 0; n < experts.per_token; ++n) {
      gates.values[at + order[n]] = std::exp(row[order[n]] - row[order[0]]) / sum;
    }
  }
  return gates;
}

/// Every expert for every token.
Array apply_experts(const Experts& experts, const Array& x, AttentionStages& stages, const Arithmetic& arithmetic) {
  AttentionStages unused;
  stages.router = multiply(arithmetic, experts.router, x);
  stages.gates = route(experts, stages.router);
  Array sum = zeros(x.shape);
  const std::size_t width = x.shape.back(), count = experts.count();
  for (std::size_t e = 0; e < count; ++e) {
    const Array one = multiply(arithmetic, experts.experts[e].out, apply_inner(experts.experts[e], x, unused, arithmetic));
    for (std::size_t i = 0; i < sum.values.size(); ++i) {
      sum.values[i] += stages.gates.values[i / width * count + e] * one.values[i];
    }
  }
  if (!experts.shared) return sum;
  const Array shared = multiply(arithmetic, experts.shared->out, apply_inner(*experts.shared, x, unused, arithmetic));
  const Array gate = experts.shared_gate ? multiply(arithmetic, *experts.shared_gate, x) : Array();
  for (std::size_t i = 0; i < sum.values.size(); ++i) {
    sum.values[i] += experts.shared_gate ? shared.values[i] / (1.0 + std::exp(-gate.values[i / width])) : shared.values[i];
  }
  return sum;
}

/// [batch, token, heads·d] → [batch, head, token, d]
Array split_heads(const Array& x, std::uint32_t heads) {
  const std::uint32_t batch = x.shape[0];
  const std::uint32_t tokens = x.shape[1];
  const std::uint32_t d = x.shape[2] / heads;
  Array split = zeros({batch, heads, tokens, d});
  std::size_t to = 0;
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::size_t h = 0; h < heads; ++h) {
      for (std::size_t t = 0; t < tokens; ++t) {
        for (std::size_t i = 0; i < d; ++i) split.values[to++] = x.values[((b * tokens + t) * heads + h) * d + i];
      }
    }
  }
  return split;
}

/// Computes blocks one after the other.
struct Pass {
  const Network& network;
  const ModelInput& input;
  const PassRules& rules;
  Run run = {};

  /// Applies the edit of a site without heads to x [batch, token, d].
  Array edited(BlockRef block, Site site, Array x) const {
    if (!rules.edit) return x;
    Array values{.shape = {x.shape[0], 1, x.shape[1], x.shape[2]}, .values = std::move(x.values)};
    rules.edit(block, site, values);
    return {.shape = std::move(x.shape), .values = std::move(values.values)};
  }

  /// Rounds numbers of layers with weights; numbers that are given stay as they are.
  Array written(Array x) const { return reference::written(rules.arithmetic, std::move(x)); }
  Array multiplied(const Linear& linear, const Array& x) const { return multiply(rules.arithmetic, linear, x); }

  AttentionStages project(const AttentionLayer& layer, BlockRef block, const Array& x, const Array& memory) const {
    AttentionStages stages;
    if (!layer.weights) {
      if (!input.qkv) throw Error("a layer without weights needs Q, K and V in its input: give them, or weights");
      stages.q = widen(input.qkv->query);
      stages.k = widen(input.qkv->key);
      stages.v = widen(input.qkv->value);
      return stages;
    }
    const AttentionWeights& weights = *layer.weights;
    const std::uint32_t kv_heads = layer.config.kv_head_count();
    stages.x = x;
    const auto finished = [&](const Linear& linear, const Array& from, std::uint32_t heads,
                              const std::optional<Norm>& norm) {
      return finish_projection(layer.config, norm, split_heads(multiplied(linear, from), heads));
    };
    stages.q = finished(weights.query, x, layer.config.heads, weights.query_norm);
    stages.k = finished(weights.key, memory, kv_heads, weights.key_norm);
    stages.v = finished(weights.value, memory, kv_heads, std::nullopt);
    if (layer.config.rotary) {
      const Rotary& rotary = network.layers->rotaries[*layer.config.rotary];
      stages.q = rotate(rotary, input.queries(block.kind), std::move(stages.q));
      stages.k = rotate(rotary, input.keys(block.kind), std::move(stages.k));
    }
    for (Array* matrix : {&stages.q, &stages.k, &stages.v}) *matrix = written(std::move(*matrix));
    return stages;
  }

  /// The attention of a layer, from x to its branch's output. `x` is normed already.
  AttentionStages attention(const AttentionLayer& layer, BlockRef block, const Array& x, const Array& memory) const {
    AttentionStages stages = project(layer, block, x, memory);
    if (rules.edit) {
      rules.edit(block, Site::Query, stages.q);
      rules.edit(block, Site::Weights, stages.q);
      rules.edit(block, Site::Key, stages.k);
      rules.edit(block, Site::Value, stages.v);
    }
    if (layer.config.distances) relate(network.layers->distances[*layer.config.distances], layer, stages);
    attend(attention_of(network, input, rules, block), stages, rules.arithmetic);
    if (rules.edit) {
      rules.edit(block, Site::HeadOutput, stages.heads);
      stages.merged = merge_heads(stages.heads, layer.config.merge);
    }
    if (layer.weights && layer.weights->output) {
      stages.output = edited(block, Site::AttentionOutput, multiplied(*layer.weights->output, stages.merged));
    }
    return stages;
  }

  /// One layer with its stages; `memory` is the other side of a cross-attention, null for self-attention.
  std::pair<Array, AttentionStages> layer(BlockRef block, const Array& x, const Array* memory) const {
    const AttentionLayer& layer = network.layer(block);
    const Array input_of_attention = written(apply(layer.norms.before, x));
    AttentionStages stages = attention(layer, block, input_of_attention, memory == nullptr ? input_of_attention : *memory);
    Array y = apply(layer.norms.inside, stages.output.values.empty() ? stages.merged : stages.output);
    if (!layer.norms.is_empty()) {
      if (layer.weights) stages.residual = x;
      y = add(std::move(y), x, static_cast<double>(layer.norms.scale));
      if (layer.norms.after) stages.attention_sum = y;
      y = written(apply(layer.norms.after, std::move(y)));
      stages.attended = y;
    }
    if (!layer.has_feed_forward()) return {std::move(y), std::move(stages)};
    const BranchNorms& norms = layer.feed_forward_norms;
    const Array read = written(apply(norms.before, layer.is_parallel ? x : y));
    if (norms.before) stages.ffn_input = read;
    Array output;
    if (layer.experts) {
      output = apply_experts(*layer.experts, read, stages, rules.arithmetic);
    } else {
      stages.ffn_active = edited(block, Site::Inner, apply_inner(*layer.feed_forward, read, stages, rules.arithmetic));
      output = multiplied(layer.feed_forward->out, stages.ffn_active);
    }
    stages.ffn_output = edited(block, Site::FeedForward, std::move(output));
    Array sum = add(apply(norms.inside, stages.ffn_output), y, static_cast<double>(norms.scale));
    if (norms.after) stages.ffn_sum = sum;
    stages.next = written(apply(norms.after, std::move(sum)));
    return {stages.next, std::move(stages)};
  }

  /// Computes the next block of the run and hands its stages to `rules.take`, or keeps them in the run where there is
  /// none.
  Array next(BlockRef block, const Array& x, const Array* memory) {
    auto [y, stages] = layer(block, x, memory);
    if (rules.take) {
      rules.take(block, x, std::move(stages));
    } else {
      run.blocks.push_back(block);
      run.stages.push_back(std::move(stages));
    }
    return std::move(y);
  }
};

}  // namespace

double activated(Activation activation, double x) {
  switch (activation) {
    case Activation::None:
      return x;
    case Activation::Relu:
      return std::max(x, 0.0);
    case Activation::Gelu:
      return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
    case Activation::GeluTanh:
      return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case Activation::Silu:
      return x / (1.0 + std::exp(-x));
    case Activation::Relu2:
      return std::max(x, 0.0) * std::max(x, 0.0);
    case Activation::QuickGelu:
      return x / (1.0 + std::exp(-1.702 * x));
  }
  return x;
}

Array unembed(const Unembedding& unembedding, Array x, const Arithmetic& arithmetic) {
  if (unembedding.transform) x = multiply(arithmetic, *unembedding.transform, x);
  for (double& value : x.values) value = activated(unembedding.activation, value);
  x = apply(unembedding.norm, std::move(x));
  for (double& value : x.values) value *= static_cast<double>(unembedding.scale);
  Array logits = multiply(arithmetic, unembedding.linear, x);
  const auto cap = static_cast<double>(unembedding.softcap);
  for (double& value : logits.values) {
    if (cap > 0.0) value = cap * std::tanh(value / cap);
  }
  return logits;
}

Attention attention_of(const Network& network, const ModelInput& input, const PassRules& rules, BlockRef block) {
  const AttentionConfig& config = network.layer(block).config;
  Attention attention{.config = config,
                      .block = block,
                      .is_visible = rules.is_visible,
                      .fill = rules.fills[static_cast<std::size_t>(block.kind)],
                      .score = rules.score,
                      .weight = rules.weight,
                      .is_single = rules.arithmetic.is_single && network.layer(block).weights};
  if (!config.position_bias) return attention;
  const PositionBias& bias = network.layers->position_biases[*config.position_bias];
  attention.score = [&bias, &input, &rules](BlockRef ref, std::uint32_t item, std::uint32_t head, std::uint32_t query,
                                            std::uint32_t key, double number) {
    number += bias.of_cell(head, query, key, input.keys(ref.kind).start(item));
    return rules.score ? rules.score(ref, item, head, query, key, number) : number;
  };
  return attention;
}

AttentionStages run_block(const Network& network, const ModelInput& input, const PassRules& rules, BlockRef block,
                          const Array& x, const Array& memory) {
  return Pass{network, input, rules}.layer(block, x, block.kind == BlockKind::Cross ? &memory : nullptr).second;
}

Run run(const Network& network, const ModelInput& input, const Visibility& is_visible, double fill, const SiteEdit& edit,
        const ScoreEdit& score, const ScoreEdit& weight) {
  return run(network, input,
             {.is_visible = is_visible, .fills = {fill, fill, fill}, .edit = edit, .score = score, .weight = weight});
}

Run run(const Network& network, const ModelInput& input, const PassRules& rules) {
  check(network, input);
  const Layers& layers = *network.layers;
  Pass pass{network, input, rules};

  Array memory = pass.written(embed(network.source_embedding.get(), input.source));
  if (!layers.encoder.empty()) {
    pass.run.encoder_hidden.push_back(memory);
    for (std::uint32_t i = 0; i < layers.encoder.size(); ++i) {
      const BlockRef block{BlockKind::EncoderSelf, LayerIndex{i}};
      if (layers.encoder[i].weights) memory = pass.edited(block, Site::Residual, std::move(memory));
      pass.run.encoder_hidden.back() = memory;
      memory = pass.next(block, memory, nullptr);
      pass.run.encoder_hidden.push_back(memory);
    }
    memory = apply(layers.encoder_norm, std::move(memory));
    pass.run.encoder_output = memory;
  }

  Array state = memory;
  if (!layers.decoder.empty()) {
    state = pass.written(embed(network.target_embedding.get(), *input.target));
    pass.run.decoder_hidden.push_back(state);
    for (std::uint32_t i = 0; i < layers.decoder.size(); ++i) {
      const DecoderLayer& layer = layers.decoder[i];
      if (layer.self) {
        const BlockRef block{BlockKind::DecoderSelf, LayerIndex{i}};
        state = pass.edited(block, Site::Residual, std::move(state));
        pass.run.decoder_hidden.back() = state;
        state = pass.next(block, state, nullptr);
      }
      const BlockRef block{BlockKind::Cross, LayerIndex{i}};
      if (layer.cross.weights) state = pass.edited(block, Site::Residual, std::move(state));
      if (!layer.self) pass.run.decoder_hidden.back() = state;
      state = pass.next(block, state, &memory);
      pass.run.decoder_hidden.push_back(state);
    }
    state = apply(layers.decoder_norm, std::move(state));
    pass.run.decoder_output = state;
  }
  if (layers.unembedding && !rules.take) pass.run.logits = unembed(*layers.unembedding, std::move(state), rules.arithmetic);
  return std::move(pass.run);
}

}  // namespace headlight::model::reference
