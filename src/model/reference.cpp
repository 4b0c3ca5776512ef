#include "model/reference.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "model/reference_layers.h"

namespace headlight::model::reference {
namespace {

/// Softmax of one row of masked scores. NaN when one of them is NaN or +∞, or all are −∞.
void softmax_row(const double* masked, std::size_t keys, double* weights, double& row_max, double& row_sum) {
  row_max = *std::max_element(masked, masked + keys);
  row_sum = 0.0;
  for (std::size_t j = 0; j < keys; ++j) row_sum += weights[j] = std::exp(masked[j] - row_max);
  for (std::size_t j = 0; j < keys; ++j) weights[j] /= row_sum;
}

/// A layer's window restricts what the mask allows.
bool is_within(std::uint32_t window, std::uint32_t query, std::uint32_t key) {
  const std::uint32_t distance = query > key ? query - key : key - query;
  return window == 0 || distance < window;
}

/// Computes blocks one after the other and keeps their stages.
struct Pass {
  const Layers& layers;
  const ModelInput& input;
  const Visibility& is_visible;
  double fill;
  const SiteEdit& edit;
  const ScoreEdit& score;
  const ScoreEdit& weight;
  Run run = {};

  /// Of a site without heads: x [batch, token, d] with the edit.
  Array edited(BlockRef block, Site site, Array x) const {
    if (!edit) return x;
    Array values{.shape = {x.shape[0], 1, x.shape[1], x.shape[2]}, .values = std::move(x.values)};
    edit(block, site, values);
    return {.shape = std::move(x.shape), .values = std::move(values.values)};
  }

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
    stages.q = apply(weights.query_norm, split_heads(apply(weights.query, x), layer.config.heads));
    stages.k = apply(weights.key_norm, split_heads(apply(weights.key, memory), kv_heads));
    stages.v = split_heads(apply(weights.value, memory), kv_heads);
    if (layer.config.rotary) {
      const Rotary& rotary = layers.rotaries[*layer.config.rotary];
      stages.q = rotate(rotary, input.queries(block.kind), std::move(stages.q));
      stages.k = rotate(rotary, input.keys(block.kind), std::move(stages.k));
    }
    return stages;
  }

  /// The attention of a layer, from x to its branch's output. `x` is normed already; without memory, keys come from x.
  Array attention(const AttentionLayer& layer, BlockRef block, const Array& x, const Array* memory) {
    AttentionStages stages = project(layer, block, x, memory == nullptr ? x : *memory);
    const PositionBias* bias = layer.config.position_bias ? &layers.position_biases[*layer.config.position_bias] : nullptr;
    attend(layer.config, block, is_visible, fill, stages, bias, edit, score, weight);
    if (layer.weights && layer.weights->output) {
      stages.output = edited(block, Site::AttentionOutput, apply(*layer.weights->output, stages.merged));
    }
    Array y = stages.output.values.empty() ? stages.merged : stages.output;
    run.blocks.push_back(block);
    run.stages.push_back(std::move(stages));
    return y;
  }

  /// One layer; `memory` is the other side of a cross-attention, null for self-attention.
  Array layer(const AttentionLayer& layer, BlockRef block, const Array& x, const Array* memory) {
    Array y = apply(layer.norms.inside, attention(layer, block, apply(layer.norms.before, x), memory));
    AttentionStages& stages = run.stages.back();
    if (!layer.norms.is_empty()) {
      if (layer.weights) stages.residual = x;
      y = add(std::move(y), x);
      if (layer.norms.after) stages.attention_sum = y;
      y = apply(layer.norms.after, std::move(y));
      stages.attended = y;
    }
    if (!layer.feed_forward) return y;
    const BranchNorms& norms = layer.feed_forward_norms;
    const Array read = apply(norms.before, layer.is_parallel ? x : y);
    if (norms.before) stages.ffn_input = read;
    stages.ffn_active = edited(block, Site::Inner, apply_inner(*layer.feed_forward, read, &stages));
    stages.ffn_output = edited(block, Site::FeedForward, apply(layer.feed_forward->out, stages.ffn_active));
    Array sum = add(apply(norms.inside, stages.ffn_output), y);
    if (norms.after) stages.ffn_sum = sum;
    stages.next = apply(norms.after, std::move(sum));
    return stages.next;
  }
};

}  // namespace

void attend(const AttentionConfig& config, BlockRef block, const Visibility& is_visible, double fill,
            AttentionStages& stages, const PositionBias* bias, const SiteEdit& edit, const ScoreEdit& score_edit,
            const ScoreEdit& weight_edit) {
  if (edit) {
    edit(block, Site::Query, stages.q);
    edit(block, Site::Weights, stages.q);
    edit(block, Site::Key, stages.k);
    edit(block, Site::Value, stages.v);
  }
  const std::uint32_t batch = stages.q.shape[0];
  const std::uint32_t heads = stages.q.shape[1];
  const std::uint32_t kv_heads = stages.k.shape[1];
  const std::uint32_t queries = stages.q.shape[2];
  const std::uint32_t keys = stages.k.shape[2];
  const std::uint32_t d_k = stages.q.shape[3];
  const std::uint32_t d_v = stages.v.shape[3];
  const double scale = static_cast<double>(config.scale.factor(d_k));
  const double cap = static_cast<double>(config.softcap);
  for (Array* map : {&stages.scores, &stages.scaled, &stages.masked, &stages.weights})
    *map = zeros({batch, heads, queries, keys});
  stages.row_max = stages.row_sum = zeros({batch, heads, queries});
  stages.heads = zeros({batch, heads, queries, d_v});

  std::size_t row = 0;  // of [batch, head, query]
  for (std::uint32_t b = 0; b < batch; ++b) {
    for (std::uint32_t h = 0; h < heads; ++h) {
      const std::size_t first_key = (std::size_t{b} * kv_heads + h / (heads / kv_heads)) * keys;
      for (std::uint32_t i = 0; i < queries; ++i, ++row) {
        bool has_weights = std::isfinite(fill);  // not where the mask hides every key by −∞
        for (std::uint32_t j = 0; j < keys; ++j) {
          double score = 0.0;
          for (std::size_t d = 0; d < d_k; ++d)
            score += stages.q.values[row * d_k + d] * stages.k.values[(first_key + j) * d_k + d];
          double scaled = score * scale;
          if (cap > 0.0) scaled = cap * std::tanh(scaled / cap);
          if (bias != nullptr) scaled += bias->value(h, std::int64_t{j} - std::int64_t{i});
          if (score_edit) scaled = score_edit(block, b, h, i, j, scaled);
          const bool is_seen = is_within(config.window, i, j) && is_visible(block, b, h, i, j);
          has_weights = has_weights || is_seen;
          stages.scores.values[row * keys + j] = score;
          stages.scaled.values[row * keys + j] = scaled;
          stages.masked.values[row * keys + j] = is_seen ? scaled : fill;
        }
        stages.row_max.values[row] = fill;
        if (!has_weights) continue;
        softmax_row(&stages.masked.values[row * keys], keys, &stages.weights.values[row * keys], stages.row_max.values[row],
                    stages.row_sum.values[row]);
        for (std::size_t j = 0; j < keys; ++j) {
          double& weight = stages.weights.values[row * keys + j];
          if (weight_edit) weight = weight_edit(block, b, h, i, static_cast<std::uint32_t>(j), weight);
          for (std::size_t d = 0; d < d_v; ++d)
            stages.heads.values[row * d_v + d] += weight * stages.v.values[(first_key + j) * d_v + d];
        }
      }
    }
  }
  if (edit) edit(block, Site::HeadOutput, stages.heads);
  stages.merged = merge_heads(stages.heads, config.merge);
}

Run run(const Network& network, const ModelInput& input, const Visibility& is_visible, double fill, const SiteEdit& edit,
        const ScoreEdit& score, const ScoreEdit& weight) {
  check(network, input);
  const Layers& layers = *network.layers;
  Pass pass{.layers = layers,
            .input = input,
            .is_visible = is_visible,
            .fill = fill,
            .edit = edit,
            .score = score,
            .weight = weight};

  Array memory = embed(network.source_embedding.get(), input.source);
  if (!layers.encoder.empty()) {
    pass.run.encoder_hidden.push_back(memory);
    for (std::uint32_t i = 0; i < layers.encoder.size(); ++i) {
      const BlockRef block{BlockKind::EncoderSelf, LayerIndex{i}};
      if (layers.encoder[i].weights) memory = pass.edited(block, Site::Residual, std::move(memory));
      pass.run.encoder_hidden.back() = memory;
      memory = pass.layer(layers.encoder[i], block, memory, nullptr);
      pass.run.encoder_hidden.push_back(memory);
    }
    memory = apply(layers.encoder_norm, std::move(memory));
    pass.run.encoder_output = memory;
  }

  Array state = memory;
  if (!layers.decoder.empty()) {
    state = embed(network.target_embedding.get(), *input.target);
    pass.run.decoder_hidden.push_back(state);
    for (std::uint32_t i = 0; i < layers.decoder.size(); ++i) {
      const DecoderLayer& layer = layers.decoder[i];
      if (layer.self) {
        const BlockRef block{BlockKind::DecoderSelf, LayerIndex{i}};
        state = pass.edited(block, Site::Residual, std::move(state));
        pass.run.decoder_hidden.back() = state;
        state = pass.layer(*layer.self, block, state, nullptr);
      }
      const BlockRef block{BlockKind::Cross, LayerIndex{i}};
      if (layer.cross.weights) state = pass.edited(block, Site::Residual, std::move(state));
      if (!layer.self) pass.run.decoder_hidden.back() = state;
      state = pass.layer(layer.cross, block, state, &memory);
      pass.run.decoder_hidden.push_back(state);
    }
    state = apply(layers.decoder_norm, std::move(state));
    pass.run.decoder_output = state;
  }
  if (layers.unembedding) pass.run.logits = unembed(*layers.unembedding, std::move(state));
  return std::move(pass.run);
}

}  // namespace headlight::model::reference
