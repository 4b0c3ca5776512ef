#include "model/reference_layers.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace headlight::model::reference {
namespace {

double number(const std::vector<float>& values, std::size_t index) { return static_cast<double>(values[index]); }

/// Adds `rows[row]` of a [rows, width] table to `to`.
void add_row(const Tensor& table, std::size_t row, double factor, double* to) {
  const std::size_t width = table.axis(1);
  for (std::size_t i = 0; i < width; ++i) to[i] += factor * number(table.values, row * width + i);
}

}  // namespace

Array zeros(Shape shape) {
  const std::size_t count = element_count(shape);
  return {.shape = std::move(shape), .values = std::vector<double>(count)};
}

Array widen(const Tensor& tensor) {
  return {.shape = tensor.shape, .values = std::vector<double>(tensor.values.begin(), tensor.values.end())};
}

Array add(Array a, const Array& b) {
  for (std::size_t i = 0; i < a.values.size(); ++i) a.values[i] += b.values[i];
  return a;
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
  const auto count = static_cast<double>(width);
  for (std::size_t start = 0; start < x.values.size(); start += width) {
    double* row = &x.values[start];
    double mean = 0.0;
    for (std::size_t i = 0; i < width && norm.kind == Norm::Kind::Layer; ++i) mean += row[i] / count;
    double variance = 0.0;  // for RMSNorm the mean square
    for (std::size_t i = 0; i < width; ++i) variance += (row[i] - mean) * (row[i] - mean) / count;
    const double inverse = 1.0 / std::sqrt(variance + static_cast<double>(norm.epsilon));
    for (std::size_t i = 0; i < width; ++i) {
      row[i] = (row[i] - mean) * inverse * (number(weight.values, i) + static_cast<double>(norm.weight_offset));
      if (!bias.is_empty()) row[i] += number(bias.values, i);
    }
  }
  return x;
}

Array apply(const std::optional<Norm>& norm, Array x) { return norm ? apply(*norm, std::move(x)) : std::move(x); }

double apply(Activation activation, double x) {
  switch (activation) {
    case Activation::None:
      return x;
    case Activation::Relu:
      return std::max(x, 0.0);
    case Activation::Gelu:
      return 0.5 * x * (1.0 + std::erf(x / std::numbers::sqrt2));
    case Activation::GeluTanh:
      return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case Activation::Silu:
      return x / (1.0 + std::exp(-x));
  }
  return x;
}

Array apply_inner(const FeedForward& feed_forward, const Array& x, AttentionStages* stages) {
  Array inner = apply(feed_forward.in, x);
  if (stages != nullptr) stages->ffn_hidden = inner;
  if (feed_forward.gate) {
    Array gate = apply(*feed_forward.gate, x);
    for (std::size_t i = 0; i < inner.values.size(); ++i) inner.values[i] *= apply(feed_forward.activation, gate.values[i]);
    if (stages != nullptr) stages->ffn_gate = std::move(gate);
  } else {
    for (double& value : inner.values) value = apply(feed_forward.activation, value);
  }
  return inner;
}

Array apply(const FeedForward& feed_forward, const Array& x) {
  return apply(feed_forward.out, apply_inner(feed_forward, x));
}

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
    const bool is_long = rotary.is_long(tokens.position_count(b));
    const std::vector<double>& frequencies = rotary.frequencies(is_long);
    const double factor = rotary.factor(is_long);
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
  const Tensor table = embedding->table.tensor(), positions = embedding->positions.tensor(),
               types = embedding->types.tensor();
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
  for (std::size_t row = 0; row < tokens.ids.size(); ++row) {
    if (tokens.ids[row] == kPaddingId) continue;
    add_row(table, tokens.ids[row], static_cast<double>(embedding->scale), &x.values[row * table.axis(1)]);
  }
  if (!embedding->is_projected_first) add_positions(x);
  x = apply(embedding->norm, std::move(x));
  if (embedding->projection) x = apply(*embedding->projection, x);
  if (embedding->is_projected_first) add_positions(x);
  return x;
}

Array unembed(const Unembedding& unembedding, Array x) {
  if (unembedding.transform) x = apply(*unembedding.transform, x);
  for (double& value : x.values) value = apply(unembedding.activation, value);
  x = apply(unembedding.norm, std::move(x));
  for (double& value : x.values) value *= static_cast<double>(unembedding.scale);
  Array logits = apply(unembedding.linear, x);
  const auto cap = static_cast<double>(unembedding.softcap);
  for (double& value : logits.values) {
    if (cap > 0.0) value = cap * std::tanh(value / cap);
  }
  return logits;
}

}  // namespace headlight::model::reference
