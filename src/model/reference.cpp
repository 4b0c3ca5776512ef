#include "model/reference.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace headlight::model::reference {
namespace {

double number(const std::vector<float>& values, std::size_t index) { return static_cast<double>(values[index]); }

/// Adds `rows[row]` of a [rows, width] table to `to`.
void add_row(const Parameter& table, std::uint32_t row, double factor, double* to) {
  std::vector<float> numbers(table.axis(1));
  table.read(row, 1, numbers);
  for (const float one : numbers) *to++ += factor * static_cast<double>(one);
}

/// Softmax of one row of masked scores. NaN when one of them is NaN or +∞, or all are −∞.
void softmax_row(const double* masked, std::size_t keys, double* weights, double& row_max, double& row_sum) {
  row_max = *std::max_element(masked, masked + keys);
  row_sum = 0.0;
  for (std::size_t j = 0; j < keys; ++j) row_sum += weights[j] = std::exp(masked[j] - row_max);
  for (std::size_t j = 0; j < keys; ++j) weights[j] /= row_sum;
}

/// Norms a row by the weights from `at` on.
void normalise(const Norm& norm, const Tensor& weight, const Tensor& bias, std::size_t at, std::span<double> row) {
  const auto count = static_cast<double>(row.size());
  double mean = 0.0;
  for (std::size_t i = 0; i < row.size() && norm.kind == Norm::Kind::Layer; ++i) mean += row[i] / count;
  double variance = 0.0;  // for RMSNorm the mean square
  for (const double value : row) variance += (value - mean) * (value - mean) / count;
  const double inverse = 1.0 / std::sqrt(variance + static_cast<double>(norm.epsilon));
  for (std::size_t i = 0; i < row.size(); ++i) {
    row[i] = (row[i] - mean) * inverse * (number(weight.values, at + i) + static_cast<double>(norm.weight_offset));
    if (!bias.is_empty()) row[i] += number(bias.values, at + i);
  }
}

/// A layer's window restricts what the mask allows.
bool is_within(std::uint32_t window, std::uint32_t query, std::uint32_t key) {
  const std::uint32_t distance = query > key ? query - key : key - query;
  return window == 0 || distance < window;
}

}  // namespace

Array zeros(Shape shape) {
  const std::size_t count = element_count(shape);
  return {.shape = std::move(shape), .values = std::vector<double>(count)};
}

Array widen(const Tensor& tensor) {
  return {.shape = tensor.shape, .values = std::vector<double>(tensor.values.begin(), tensor.values.end())};
}

Array apply(const Linear& linear, const Array& x) {
  const std::size_t in = linear.in();
  const std::size_t out = linear.out();
  const Tensor weight = linear.weight.tensor(), bias = linear.bias.tensor();
  Shape shape = x.shape;
  shape.back() = linear.out();
  Array y = zeros(std::move(shape));
  for (std::size_t row = 0; row < x.values.size() / in; ++row) {
    for (std::size_t o = 0; o < out; ++o) {
      double sum = linear.has_bias() ? number(bias.values, o) : 0.0;
      for (std::size_t i = 0; i < in; ++i) sum += x.values[row * in + i] * number(weight.values, o * in + i);
      y.values[row * out + o] = sum;
    }
  }
  return y;
}

Array apply(const Norm& norm, Array x) {
  const Tensor weight = norm.weight.tensor(), bias = norm.bias.tensor();
  const std::size_t width = x.shape.back();
  for (std::size_t start = 0; start < x.values.size(); start += width)
    normalise(norm, weight, bias, 0, {&x.values[start], width});
  return x;
}

Array finish_projection(const AttentionConfig& config, const std::optional<Norm>& norm, Array x, std::uint32_t first_head) {
  const auto cut = [clip = static_cast<double>(config.clip)](Array of) {
    for (double& value : of.values) {
      if (clip > 0.0) value = std::clamp(value, -clip, clip);
    }
    return of;
  };
  if (!norm) return cut(std::move(x));
  const Tensor weight = norm->weight.tensor(), bias = norm->bias.tensor();
  const std::size_t batch = x.shape[0], heads = x.shape[1], tokens = x.shape[2], width = x.shape[3];
  if (norm->spans_heads) {
    Array rows = merge_heads(x, MergeOrder::Concatenate);
    for (std::size_t start = 0; start < rows.values.size(); start += heads * width)
      normalise(*norm, weight, bias, 0, {&rows.values[start], heads * width});
    std::size_t to = 0;
    for (std::size_t b = 0; b < batch; ++b) {
      for (std::size_t h = 0; h < heads; ++h) {
        for (std::size_t t = 0; t < tokens; ++t) {
          for (std::size_t i = 0; i < width; ++i) x.values[to++] = rows.values[((b * tokens + t) * heads + h) * width + i];
        }
      }
    }
    return cut(std::move(x));
  }
  for (std::size_t row = 0; row < batch * heads * tokens; ++row) {
    const std::size_t head = first_head + row / tokens % heads;
    const std::size_t at = weight.values.size() == width ? 0 : head * width;  // shared by heads, or their own
    normalise(*norm, weight, bias, at, {&x.values[row * width], width});
  }
  return cut(std::move(x));
}

Array apply(const std::optional<Norm>& norm, Array x) { return norm ? apply(*norm, std::move(x)) : std::move(x); }

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

Array rotate(const Rotary& rotary, const TokenBatch& tokens, Array x) {
  const std::uint32_t heads = x.shape[1];
  const std::size_t width = x.shape[3];
  const std::size_t half = rotary.dimensions / 2;
  double* row = x.values.data();
  for (std::uint32_t b = 0; b < tokens.batch; ++b) {
    const std::uint32_t length = tokens.position_count(b);
    const std::vector<double> frequencies = rotary.frequencies(length);
    const double factor = rotary.factor(length);
    for (std::uint32_t h = 0; h < heads; ++h) {
      for (std::uint32_t t = 0; t < tokens.length; ++t, row += width) {
        for (std::size_t i = 0; i < half; ++i) {
          const double angle = tokens.position(b, t) * frequencies[i];
          const double cosine = std::cos(angle) * factor, sine = std::sin(angle) * factor;
          double& first = row[rotary.is_interleaved ? 2 * i : i];
          double& second = row[rotary.is_interleaved ? 2 * i + 1 : i + half];
          const double rotated = first * cosine - second * sine;
          second = second * cosine + first * sine;
          first = rotated;
        }
      }
    }
  }
  return x;
}

Array embed(const Embedding* embedding, const TokenBatch& tokens) {
  if (embedding == nullptr) return widen(tokens.vectors);
  const Parameter &table = embedding->table, &positions = embedding->positions, &types = embedding->types;
  const auto add_positions = [&](Array& x) {
    const std::size_t width = x.shape[2];
    for (std::size_t row = 0; row < tokens.ids.size(); ++row) {
      const auto item = static_cast<std::uint32_t>(row / tokens.length),
                 token = static_cast<std::uint32_t>(row % tokens.length);
      double* to = &x.values[row * width];
      if (!positions.is_empty()) add_row(positions, tokens.position(item, token) + embedding->position_offset, 1.0, to);
      if (!types.is_empty()) add_row(types, tokens.types.empty() ? 0 : tokens.types[row], 1.0, to);
    }
  };
  Array x = zeros({tokens.batch, tokens.length, table.axis(1)});
  const std::vector<double> factors = embedding->line_factors(tokens);
  for (std::size_t row = 0; row < tokens.ids.size(); ++row) {
    if (tokens.ids[row] == kPaddingId || tokens.ids[row] == embedding->dropped_id) continue;
    add_row(table, tokens.ids[row], factors[row / tokens.length], &x.values[row * table.axis(1)]);
  }
  if (!embedding->adds_positions_last) add_positions(x);
  x = apply(embedding->norm, std::move(x));
  if (embedding->projection) x = apply(*embedding->projection, x);
  if (embedding->adds_positions_last) add_positions(x);
  return x;
}

namespace {

/// The vectors of distances as one head multiplies its queries (`keys`) and its keys (`queries`) with them: [rows, d_k],
/// empty where the network has no such term.
struct HeadDistances {
  Array keys, queries;
};

HeadDistances head_distances(const DistanceVectors& distances, const AttentionLayer& layer, std::uint32_t head) {
  const std::uint32_t d_k = layer.config.d_k;
  Array table = widen(distances.table);
  const auto of_head = [&](bool exists, const Linear* linear) -> Array {
    if (!exists) return {};
    if (!distances.is_projected || linear == nullptr) return table;
    return apply(Linear{.weight = linear->weight.rows(head * d_k, d_k),
                        .bias = linear->has_bias() ? linear->bias.rows(head * d_k, d_k) : Parameter()},
                 table);
  };
  if (!layer.weights)
    return {of_head(layer.config.has_content_position, nullptr), of_head(layer.config.has_position_content, nullptr)};
  const AttentionWeights& weights = *layer.weights;
  return {of_head(layer.config.has_content_position, weights.position_key ? &*weights.position_key : &weights.key),
          of_head(layer.config.has_position_content, weights.position_query ? &*weights.position_query : &weights.query)};
}

}  // namespace

void relate(const DistanceVectors& distances, const AttentionLayer& layer, AttentionStages& stages) {
  const AttentionConfig& config = layer.config;
  const std::uint32_t batch = stages.q.shape[0], heads = stages.q.shape[1], d_k = stages.q.shape[3];
  const std::uint32_t queries = stages.q.shape[2], keys = stages.k.shape[2];
  const auto product = [d_k](const double* left, const double* right) {
    double sum = 0.0;
    for (std::size_t d = 0; d < d_k; ++d) sum += left[d] * right[d];
    return sum;
  };
  if (config.has_content_position) stages.content_position = zeros({batch, heads, queries, keys});
  if (config.has_position_content) stages.position_content = zeros({batch, heads, queries, keys});
  for (std::uint32_t h = 0; h < heads; ++h) {
    const HeadDistances of_head = head_distances(distances, layer, h);
    for (std::uint32_t b = 0; b < batch; ++b) {
      const std::size_t map = std::size_t{b} * heads + h;
      for (std::size_t i = 0; i < queries; ++i) {
        for (std::size_t j = 0; j < keys; ++j) {
          const std::size_t row =
              distances.row(static_cast<std::int64_t>(i) - static_cast<std::int64_t>(j)) * std::size_t{d_k};
          const std::size_t cell = (map * queries + i) * keys + j;
          const double* query = &stages.q.values[(map * queries + i) * d_k];
          const double* key = &stages.k.values[(map * keys + j) * d_k];
          if (config.has_content_position) stages.content_position.values[cell] = product(query, &of_head.keys.values[row]);
          if (config.has_position_content) stages.position_content.values[cell] = product(key, &of_head.queries.values[row]);
        }
      }
    }
  }
}

Array written(const Arithmetic& arithmetic, Array x) {
  for (double& value : x.values) value = arithmetic.is_single ? double{static_cast<float>(value)} : value;
  return x;
}

AttentionRow attention_row(const Attention& attention, const AttentionStages& stages, std::uint32_t batch,
                           std::uint32_t head, std::uint32_t query, bool only_visible) {
  const std::uint32_t heads = stages.q.shape[1], queries = stages.q.shape[2], d_k = stages.q.shape[3];
  const std::uint32_t kv_heads = stages.k.shape[1], keys = stages.k.shape[2];
  const double scale = static_cast<double>(attention.config.scale.factor(d_k));
  const auto cap = static_cast<double>(attention.config.softcap);
  const std::size_t row = (std::size_t{batch} * heads + head) * queries + query;  // of [batch, head, query]
  const std::size_t first_key = (std::size_t{batch} * kv_heads + head / (heads / kv_heads)) * keys;
  const auto written = [&](double number) { return attention.is_single ? double{static_cast<float>(number)} : number; };
  AttentionRow result;
  for (std::vector<double>* map : {&result.scores, &result.scaled, &result.masked, &result.weights}) map->resize(keys);
  result.is_visible.resize(keys);
  result.max = attention.fill;
  bool has_weights = std::isfinite(attention.fill);  // not where the mask hides every key by −∞
  for (std::uint32_t j = 0; j < keys; ++j) {
    const bool is_seen =
        is_within(attention.config.window, query, j) && attention.is_visible(attention.block, batch, head, query, j);
    has_weights = has_weights || is_seen;
    result.is_visible[j] = is_seen ? 1 : 0;
    result.masked[j] = attention.fill;
    if (only_visible && !is_seen) continue;
    double score = 0.0;
    for (std::size_t d = 0; d < d_k; ++d)
      score += stages.q.values[row * d_k + d] * stages.k.values[(first_key + j) * d_k + d];
    score = written(score);
    double related = score;
    for (const Array* term : {&stages.content_position, &stages.position_content}) {
      if (!term->values.empty()) related += term->values[row * keys + j];
    }
    double scaled = written(related * scale);
    if (cap > 0.0) scaled = cap * std::tanh(scaled / cap);
    if (attention.score) scaled = attention.score(attention.block, batch, head, query, j, scaled);
    result.scores[j] = score;
    result.scaled[j] = written(scaled);
    if (is_seen) result.masked[j] = result.scaled[j];
  }
  if (!has_weights) return result;
  softmax_row(result.masked.data(), keys, result.weights.data(), result.max, result.sum);
  for (std::uint32_t j = 0; j < keys && attention.weight; ++j) {
    result.weights[j] = attention.weight(attention.block, batch, head, query, j, result.weights[j]);
  }
  return result;
}

void attend(const Attention& attention, AttentionStages& stages, const Arithmetic& arithmetic) {
  const std::uint32_t batch = stages.q.shape[0], heads = stages.q.shape[1], queries = stages.q.shape[2];
  const std::uint32_t kv_heads = stages.k.shape[1], keys = stages.k.shape[2];
  const std::uint32_t d_k = stages.q.shape[3], d_v = stages.v.shape[3];
  for (Array* map : {&stages.scores, &stages.scaled, &stages.masked, &stages.weights}) {
    if (arithmetic.keeps_maps) *map = zeros({batch, heads, queries, keys});
  }
  stages.row_max = stages.row_sum = zeros({batch, heads, queries});
  stages.heads = zeros({batch, heads, queries, d_v});
  const bool leaves_out_masked = !arithmetic.keeps_maps && !std::isfinite(attention.fill);
  const auto compute = [&](std::uint32_t row) {  // of [batch, head, query]
    const std::uint32_t map = row / queries, head = map % heads, item = map / heads;
    const AttentionRow found = attention_row(attention, stages, item, head, row % queries, !arithmetic.keeps_maps);
    stages.row_max.values[row] = found.max;
    stages.row_sum.values[row] = found.sum;
    const std::size_t first_key = (std::size_t{item} * kv_heads + head / (heads / kv_heads)) * keys;
    for (std::size_t j = 0; j < keys && found.sum != 0.0; ++j) {
      if (leaves_out_masked && found.is_visible[j] == 0) continue;  // their weights are 0
      for (std::size_t d = 0; d < d_v; ++d) {
        stages.heads.values[std::size_t{row} * d_v + d] += found.weights[j] * stages.v.values[(first_key + j) * d_v + d];
      }
    }
    if (!arithmetic.keeps_maps) return;
    const auto keep = [&](const std::vector<double>& from, Array& to) {
      std::ranges::copy(from, to.values.begin() + static_cast<std::ptrdiff_t>(std::size_t{row} * keys));
    };
    keep(found.scores, stages.scores);
    keep(found.scaled, stages.scaled);
    keep(found.masked, stages.masked);
    keep(found.weights, stages.weights);
  };
  const std::uint32_t rows = batch * heads * queries;
  if (arithmetic.loop) {
    arithmetic.loop(rows, double(rows) * keys * (d_k + d_v), compute);
  } else {
    for (std::uint32_t row = 0; row < rows; ++row) compute(row);
  }
  stages.heads = written({.is_single = attention.is_single}, std::move(stages.heads));
  stages.merged = merge_heads(stages.heads, attention.config.merge);
}

}  // namespace headlight::model::reference
