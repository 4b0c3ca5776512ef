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

}  // namespace headlight::model::reference
