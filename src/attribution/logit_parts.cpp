#include "attribution/logit_parts.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "core/tensor.h"

namespace headlight::attribution {
namespace {

using model::Norm;

double mean(std::span<const double> values) {
  double sum = 0.0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

/// 1 / the number by which the norm divides this row.
double inverse_scale(const Norm& norm, std::span<const float> row) {
  double sum = 0.0, squares = 0.0;
  for (const float value : row) sum += double{value};
  const double center = norm.kind == Norm::Kind::Layer ? sum / static_cast<double>(row.size()) : 0.0;
  for (const float value : row) squares += (double{value} - center) * (double{value} - center);
  return 1.0 / std::sqrt(squares / static_cast<double>(row.size()) + double{norm.epsilon});
}

/// Adds factor · (W_U[token] · scale, b_U[token]).
void add_token(const model::Unembedding& unembedding, std::uint32_t token, double factor, std::vector<double>& row,
               double& bias) {
  std::vector<float> weight(row.size());
  unembedding.linear.weight.read(token, 1, weight);
  for (std::size_t i = 0; i < row.size(); ++i) row[i] += factor * double{weight[i]} * double{unembedding.scale};
  if (!unembedding.linear.has_bias()) return;
  float value = 0.0F;
  unembedding.linear.bias.read(token, 1, std::span(&value, 1));
  bias += factor * double{value};
}

/// Rows of W_O decoded at once.
constexpr std::uint32_t kBatchedRows = 64;

}  // namespace

double LogitDirection::of(std::span<const float> part) const {
  double sum = 0.0;
  for (std::size_t i = 0; i < part.size(); ++i) sum += direction[i] * double{part[i]};
  return sum;
}

LogitDirection logit_direction(const model::Layers& layers, std::span<const float> residual, LogitTarget target) {
  LogitDirection result{.direction = std::vector<double>(residual.size())};
  add_token(*layers.unembedding, target.token, 1.0, result.direction, result.constant);
  if (target.other) add_token(*layers.unembedding, *target.other, -1.0, result.direction, result.constant);
  if (!layers.encoder_norm) return result;
  const Norm& norm = *layers.encoder_norm;
  const Tensor weight = norm.weight.tensor();
  const Tensor bias = norm.bias.is_empty() ? Tensor() : norm.bias.tensor();
  for (std::size_t i = 0; i < residual.size(); ++i) {
    if (!bias.is_empty()) result.constant += result.direction[i] * double{bias.values[i]};
    result.direction[i] *= double{weight.values[i]} + double{norm.weight_offset};
  }
  const double center = norm.kind == Norm::Kind::Layer ? mean(result.direction) : 0.0;
  const double scale = inverse_scale(norm, residual);
  for (double& component : result.direction) component = (component - center) * scale;
  return result;
}

double LayerLogits::attention() const { return std::accumulate(heads.begin(), heads.end(), attention_bias); }

std::vector<double> head_directions(const model::AttentionLayer& layer, std::span<const double> direction) {
  const model::Parameter& weight = layer.weights->output->weight;
  const std::uint32_t rows = weight.axis(0), width = weight.axis(1);
  std::vector<double> result(width);
  std::vector<float> some(std::size_t{kBatchedRows} * width);
  for (std::uint32_t first = 0; first < rows; first += kBatchedRows) {
    const std::uint32_t count = std::min(kBatchedRows, rows - first);
    weight.read(first, count, std::span(some).first(std::size_t{count} * width));
    for (std::uint32_t row = 0; row < count; ++row) {
      const double factor = direction[first + row] * double{layer.norms.scale};
      const float* values = some.data() + std::size_t{row} * width;
      for (std::uint32_t i = 0; i < width; ++i) result[i] += factor * double{values[i]};
    }
  }
  return result;
}

LayerLogits layer_logits(const model::AttentionLayer& layer, const LogitDirection& direction,
                         std::span<const double> directions, std::span<const float> merged, std::span<const float> before,
                         std::span<const float> after) {
  LayerLogits result;
  const std::size_t d_v = layer.config.d_v;
  for (std::size_t head = 0; head < layer.config.heads; ++head) {
    double sum = 0.0;
    for (std::size_t i = head * d_v; i < (head + 1) * d_v; ++i) sum += directions[i] * double{merged[i]};
    result.heads.push_back(sum);
  }
  const model::Linear& output = *layer.weights->output;
  if (output.has_bias()) result.attention_bias = direction.of(output.bias.tensor().values) * double{layer.norms.scale};
  double written = 0.0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    written += direction.direction[i] * (double{after[i]} - double{before[i]});
  }
  result.mlp = written - result.attention();
  return result;
}

void add_source_logits(std::span<const double> direction, std::span<const float> weights, std::span<const float> values,
                       std::span<double> sums) {
  const std::size_t d_v = direction.size();
  for (std::size_t key = 0; key < weights.size(); ++key) {
    if (weights[key] == 0.0F) continue;
    double sum = 0.0;
    for (std::size_t i = 0; i < d_v; ++i) sum += direction[i] * double{values[key * d_v + i]};
    sums[key] += double{weights[key]} * sum;
  }
}

}  // namespace headlight::attribution
