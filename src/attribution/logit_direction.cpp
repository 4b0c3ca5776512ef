#include "attribution/logit_direction.h"

#include <cmath>
#include <cstddef>

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

}  // namespace headlight::attribution
