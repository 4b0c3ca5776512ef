#include "attribution/value_norms.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace headlight::attribution {
namespace {

/// Rows of W_O decoded at once.
constexpr std::uint32_t kRows = 64;

/// Calls use(row) with the head's d_v numbers of each row of W_O.
template <typename Use>
void for_each_row(const model::AttentionLayer& layer, std::uint32_t head, const Use& use) {
  const model::Parameter& weight = layer.weights->output->weight;
  const std::uint32_t rows = weight.axis(0), width = weight.axis(1), d_v = layer.config.d_v;
  std::vector<float> some(std::size_t{kRows} * width);
  for (std::uint32_t first = 0; first < rows; first += kRows) {
    const std::uint32_t count = std::min(kRows, rows - first);
    weight.read(first, count, std::span(some).first(std::size_t{count} * width));
    for (std::size_t row = 0; row < count; ++row) use(std::span(some).subspan(row * width + std::size_t{head} * d_v, d_v));
  }
}

double dot(std::span<const float> a, std::span<const float> b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * double{b[i]};
  return sum;
}

/// vᵀ·gram·v with a symmetric matrix [d_v, d_v].
double square(std::span<const double> gram, std::span<const float> v) {
  double sum = 0.0;
  for (std::size_t i = 0; i < v.size(); ++i) {
    double row = 0.0;
    for (std::size_t j = 0; j < v.size(); ++j) row += gram[i * v.size() + j] * double{v[j]};
    sum += row * double{v[i]};
  }
  return sum;
}

}  // namespace

std::vector<double> value_norms(const model::AttentionLayer& layer, std::uint32_t head, std::span<const float> values) {
  const std::size_t d_v = layer.config.d_v, keys = values.size() / d_v;
  std::vector<double> squares(keys);
  const auto value = [&](std::size_t key) { return values.subspan(key * d_v, d_v); };
  if (!layer.weights || !layer.weights->output) {
    for (std::size_t key = 0; key < keys; ++key) squares[key] = dot(value(key), value(key));
  } else if (keys <= d_v) {
    for_each_row(layer, head, [&](std::span<const float> row) {
      for (std::size_t key = 0; key < keys; ++key) {
        const double component = dot(row, value(key));
        squares[key] += component * component;
      }
    });
  } else {
    // ‖v W‖² = v (W Wᵀ) vᵀ: the product of W_O with itself once instead of with every value.
    std::vector<double> gram(d_v * d_v);
    for_each_row(layer, head, [&](std::span<const float> row) {
      for (std::size_t i = 0; i < d_v; ++i) {
        for (std::size_t j = 0; j < d_v; ++j) gram[i * d_v + j] += double{row[i]} * double{row[j]};
      }
    });
    for (std::size_t key = 0; key < keys; ++key) squares[key] = square(gram, value(key));
  }
  for (double& norm : squares) norm = std::sqrt(std::max(norm, 0.0));
  return squares;
}

}  // namespace headlight::attribution
