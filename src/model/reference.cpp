#include "model/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"

namespace headlight::model::reference {
namespace {

Array zeros(Shape shape) {
  const std::size_t count = element_count(shape);
  return {.shape = std::move(shape), .values = std::vector<double>(count)};
}

Array widen(const Tensor& tensor) {
  return {.shape = tensor.shape, .values = std::vector<double>(tensor.values.begin(), tensor.values.end())};
}

/// y = x·Wᵀ + b over the last axis.
Array apply(const Linear& linear, const Array& x) {
  const std::size_t in = linear.in();
  const std::size_t out = linear.out();
  Shape shape = x.shape;
  shape.back() = linear.out();
  Array y = zeros(std::move(shape));
  for (std::size_t row = 0; row < x.values.size() / in; ++row) {
    for (std::size_t o = 0; o < out; ++o) {
      double sum = linear.has_bias() ? static_cast<double>(linear.bias.values[o]) : 0.0;
      for (std::size_t i = 0; i < in; ++i)
        sum += x.values[row * in + i] * static_cast<double>(linear.weight.values[o * in + i]);
      y.values[row * out + o] = sum;
    }
  }
  return y;
}

/// LayerNorm of a + b over the last axis, with the biased variance.
Array add_and_normalise(const LayerNorm& norm, const Array& a, const Array& b) {
  Array y = a;
  const std::size_t width = a.shape.back();
  for (std::size_t i = 0; i < y.values.size(); ++i) y.values[i] += b.values[i];
  for (std::size_t start = 0; start < y.values.size(); start += width) {
    double mean = 0.0;
    for (std::size_t i = 0; i < width; ++i) mean += y.values[start + i] / static_cast<double>(width);
    double variance = 0.0;
    for (std::size_t i = 0; i < width; ++i) variance += std::pow(y.values[start + i] - mean, 2) / static_cast<double>(width);
    const double inverse = 1.0 / std::sqrt(variance + static_cast<double>(norm.epsilon));
    for (std::size_t i = 0; i < width; ++i) {
      y.values[start + i] = (y.values[start + i] - mean) * inverse * static_cast<double>(norm.weight.values[i]) +
                            static_cast<double>(norm.bias.values[i]);
    }
  }
  return y;
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

/// [batch, head, token, d] → [batch, token, heads·d] in either order.
Array merge_heads(const Array& split, MergeOrder order) {
  const std::uint32_t batch = split.shape[0];
  const std::uint32_t heads = split.shape[1];
  const std::uint32_t tokens = split.shape[2];
  const std::uint32_t d = split.shape[3];
  Array merged = zeros({batch, tokens, heads * d});
  if (order == MergeOrder::WithoutTranspose) {
    merged.values = split.values;
    return merged;
  }
  std::size_t from = 0;
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::size_t h = 0; h < heads; ++h) {
      for (std::size_t t = 0; t < tokens; ++t) {
        for (std::size_t i = 0; i < d; ++i) merged.values[((b * tokens + t) * heads + h) * d + i] = split.values[from++];
      }
    }
  }
  return merged;
}

/// table[id]·scale + positions[i]; the vectors themselves when the input brings them.
Array embed(const Embedding* embedding, const TokenBatch& tokens) {
  if (embedding == nullptr) return widen(tokens.vectors);
  const std::uint32_t d_model = embedding->table.axis(1);
  Array x = zeros({tokens.batch, tokens.length, d_model});
  for (std::size_t row = 0; row < tokens.ids.size(); ++row) {
    const std::size_t position = row % tokens.length;
    for (std::size_t i = 0; i < d_model; ++i) {
      double value = 0.0;
      if (tokens.ids[row] != kPaddingId) {
        value = static_cast<double>(embedding->table.values[std::size_t{tokens.ids[row]} * d_model + i]) *
                static_cast<double>(embedding->scale);
      }
      if (!embedding->positions.is_empty())
        value += static_cast<double>(embedding->positions.values[position * d_model + i]);
      x.values[row * d_model + i] = value;
    }
  }
  return x;
}

/// Softmax of one row of masked scores; zeros when every score is −inf.
void softmax_row(const double* masked, std::size_t keys, double* weights, double& row_max, double& row_sum) {
  row_max = *std::max_element(masked, masked + keys);
  row_sum = 0.0;
  if (std::isinf(row_max) && row_max < 0.0) return;
  for (std::size_t j = 0; j < keys; ++j) row_sum += weights[j] = std::exp(masked[j] - row_max);
  for (std::size_t j = 0; j < keys; ++j) weights[j] /= row_sum;
}

/// Computes blocks one after the other and keeps their stages.
struct Pass {
  const ModelInput& input;
  const Visibility& is_visible;
  double fill;
  Run run;

  Array layer(const AttentionLayer& layer, BlockRef block, const Array& x, const Array& memory) {
    AttentionStages stages;
    if (layer.weights) {
      stages.x = x;
      stages.q = split_heads(apply(layer.weights->query, x), layer.config.heads);
      stages.k = split_heads(apply(layer.weights->key, memory), layer.config.heads);
      stages.v = split_heads(apply(layer.weights->value, memory), layer.config.heads);
    } else {
      if (!input.qkv) throw Error("a layer without weights needs Q, K and V in its input: give them, or weights");
      stages.q = widen(input.qkv->query);
      stages.k = widen(input.qkv->key);
      stages.v = widen(input.qkv->value);
    }
    attend(layer.config, block, is_visible, fill, stages);
    if (layer.weights && layer.weights->output) stages.output = apply(*layer.weights->output, stages.merged);

    Array y = stages.output.values.empty() ? stages.merged : stages.output;
    if (layer.norm) y = add_and_normalise(*layer.norm, x, y);
    if (layer.feed_forward) {
      Array hidden = apply(layer.feed_forward->in, y);
      for (double& value : hidden.values) value = std::max(value, 0.0);
      y = add_and_normalise(*layer.feed_forward_norm, y, apply(layer.feed_forward->out, hidden));
    }
    run.blocks.push_back(block);
    run.stages.push_back(std::move(stages));
    return y;
  }
};

}  // namespace

void attend(const AttentionConfig& config, BlockRef block, const Visibility& is_visible, double fill,
            AttentionStages& stages) {
  const std::uint32_t batch = stages.q.shape[0];
  const std::uint32_t heads = stages.q.shape[1];
  const std::uint32_t queries = stages.q.shape[2];
  const std::uint32_t keys = stages.k.shape[2];
  const std::uint32_t d_k = stages.q.shape[3];
  const std::uint32_t d_v = stages.v.shape[3];
  const double scale = static_cast<double>(config.scale.factor(d_k));
  for (Array* map : {&stages.scores, &stages.scaled, &stages.masked, &stages.weights})
    *map = zeros({batch, heads, queries, keys});
  stages.row_max = stages.row_sum = zeros({batch, heads, queries});
  stages.heads = zeros({batch, heads, queries, d_v});

  std::size_t row = 0;  // of [batch, head, query]
  for (std::uint32_t b = 0; b < batch; ++b) {
    for (std::uint32_t h = 0; h < heads; ++h) {
      const std::size_t first_key = (std::size_t{b} * heads + h) * keys;
      for (std::uint32_t i = 0; i < queries; ++i, ++row) {
        for (std::uint32_t j = 0; j < keys; ++j) {
          double score = 0.0;
          for (std::size_t d = 0; d < d_k; ++d)
            score += stages.q.values[row * d_k + d] * stages.k.values[(first_key + j) * d_k + d];
          stages.scores.values[row * keys + j] = score;
          stages.scaled.values[row * keys + j] = score * scale;
          stages.masked.values[row * keys + j] = is_visible(block, b, h, i, j) ? score * scale : fill;
        }
        softmax_row(&stages.masked.values[row * keys], keys, &stages.weights.values[row * keys], stages.row_max.values[row],
                    stages.row_sum.values[row]);
        for (std::size_t j = 0; j < keys; ++j) {
          const double weight = stages.weights.values[row * keys + j];
          for (std::size_t d = 0; d < d_v; ++d)
            stages.heads.values[row * d_v + d] += weight * stages.v.values[(first_key + j) * d_v + d];
        }
      }
    }
  }
  stages.merged = merge_heads(stages.heads, config.merge);
}

Run run(const Network& network, const ModelInput& input, const Visibility& is_visible, double fill) {
  check(network, input);
  Pass pass{.input = input, .is_visible = is_visible, .fill = fill, .run = {}};
  const Layers& layers = *network.layers;

  Array memory = embed(network.source_embedding.get(), input.source);
  for (std::uint32_t i = 0; i < layers.encoder.size(); ++i) {
    memory = pass.layer(layers.encoder[i], {BlockKind::EncoderSelf, LayerIndex{i}}, memory, memory);
  }
  if (!layers.encoder.empty()) pass.run.encoder_output = memory;

  Array state = memory;
  if (!layers.decoder.empty()) {
    state = embed(network.target_embedding.get(), *input.target);
    for (std::uint32_t i = 0; i < layers.decoder.size(); ++i) {
      const DecoderLayer& layer = layers.decoder[i];
      if (layer.self) state = pass.layer(*layer.self, {BlockKind::DecoderSelf, LayerIndex{i}}, state, state);
      state = pass.layer(layer.cross, {BlockKind::Cross, LayerIndex{i}}, state, memory);
    }
    pass.run.decoder_output = state;
  }
  if (layers.unembedding) pass.run.logits = apply(*layers.unembedding, state);
  return std::move(pass.run);
}

}  // namespace headlight::model::reference
