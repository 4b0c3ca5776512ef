#include "attribution/value_norms.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace headlight::attribution {
namespace {

/// Rows of W_O decoded at once, and numbers read or multiplied in one call of prepare().
constexpr std::uint32_t kQueriesAtOnce = 16;
constexpr std::size_t kWork = std::size_t{1} << 23;

/// Calls use(row) with the numbers [column, column + width) of rows [first, end).
template <typename Use>
void for_each_row(const model::Parameter& weight, std::uint32_t column, std::uint32_t width, std::uint32_t first,
                  std::uint32_t end, const Use& use) {
  const std::size_t stride = weight.axis(1);
  std::vector<float> some(kQueriesAtOnce * stride);
  while (first < end) {
    const std::uint32_t count = std::min(kQueriesAtOnce, end - first);
    weight.read(first, count, std::span(some).first(count * stride));
    for (std::size_t row = 0; row < count; ++row) use(std::span<const float>(some).subspan(row * stride + column, width));
    first += count;
  }
}

double dot(std::span<const float> a, std::span<const float> b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * double{b[i]};
  return sum;
}

/// v·products·vᵀ with the upper triangle of a symmetric matrix [d_v, d_v].
double square(std::span<const double> products, std::span<const float> v) {
  double sum = 0.0;
  for (std::size_t i = 0; i < v.size(); ++i) {
    double right = 0.0;
    for (std::size_t j = i + 1; j < v.size(); ++j) right += products[i * v.size() + j] * double{v[j]};
    sum += (2.0 * right + products[i * v.size() + i] * double{v[i]}) * double{v[i]};
  }
  return sum;
}

}  // namespace

ValueNorms::ValueNorms(const model::AttentionLayer& layer, std::uint32_t head) : head_(head), d_v_(layer.config.d_v) {
  const std::optional<model::Linear>& output = layer.weights ? layer.weights->output : layer.given_output;
  if (!output) return;
  weight_ = output->weight;
  if (!is_wide()) products_.assign(std::size_t{d_v_} * d_v_, 0.0);
}

bool ValueNorms::prepare() {
  if (weight_.is_empty() || is_wide()) return true;
  const std::size_t at_once = std::max<std::size_t>(kWork / (weight_.axis(1) + work_per_key() / 2), 1);
  const auto end = static_cast<std::uint32_t>(std::min<std::size_t>(row_ + at_once, weight_.axis(0)));
  for_each_row(weight_, head_ * d_v_, d_v_, row_, end, [&](std::span<const float> row) {
    for (std::size_t i = 0; i < d_v_; ++i) {
      const double left = double{row[i]};
      for (std::size_t j = i; j < d_v_; ++j) products_[i * d_v_ + j] += left * double{row[j]};
    }
  });
  row_ = end;
  return row_ == weight_.axis(0);
}

std::vector<double> ValueNorms::squares_of_wide(std::span<const float> values) const {
  std::vector<double> squares(values.size() / d_v_, 0.0);
  for_each_row(weight_, head_ * d_v_, d_v_, 0, weight_.axis(0), [&](std::span<const float> row) {
    for (std::size_t key = 0; key < squares.size(); ++key) {
      const double component = dot(row, values.subspan(key * d_v_, d_v_));
      squares[key] += component * component;
    }
  });
  return squares;
}

std::vector<double> ValueNorms::of(std::span<const float> values) const {
  std::vector<double> norms(values.size() / d_v_);
  if (is_wide()) norms = squares_of_wide(values);
  for (std::size_t key = 0; key < norms.size() && !is_wide(); ++key) {
    const std::span<const float> value = values.subspan(key * d_v_, d_v_);
    norms[key] = weight_.is_empty() ? dot(value, value) : square(products_, value);
  }
  for (double& norm : norms) norm = norm < 0.0 ? 0.0 : std::sqrt(norm);  // rounding; NaN stays
  return norms;
}

}  // namespace headlight::attribution
