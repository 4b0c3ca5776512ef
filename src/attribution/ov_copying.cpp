#include "attribution/ov_copying.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#if defined(__GNUC__) && !defined(__clang__)
// GCC takes Eigen's loops, where it inlines them, for overruns and for reads of uninitialised memory, in some versions.
#pragma GCC diagnostic ignored "-Warray-bounds"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wnull-dereference"
#endif
#include <Eigen/Eigenvalues>

namespace headlight::attribution {
namespace {

/// Rows of W_O that are decoded at once.
constexpr std::uint32_t kRowsAtOnce = 32;

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

}  // namespace

std::string why_no_copying(const model::AttentionLayer& layer, model::BlockKind kind) {
  if (kind == model::BlockKind::Cross) {
    return "cross-attention reads the encoder's vectors and writes the decoder's, so nothing comes back where it was read";
  }
  if (!layer.weights || !layer.weights->output) return "its heads write into no residual stream: they have no W_O";
  if (layer.config.merge != model::MergeOrder::Concatenate) return "its heads are merged without a transpose";
  if (layer.weights->value.in() != layer.weights->output->out()) {
    return "its heads read and write vectors of different widths";
  }
  return {};
}

std::optional<double> ov_copying(const model::AttentionLayer& layer, std::uint32_t head) {
  const model::AttentionConfig& config = layer.config;
  const std::uint32_t size = config.d_v, d_model = layer.weights->value.in();
  const std::uint32_t kv_head = head / (config.heads / config.kv_head_count());
  std::vector<float> value(std::size_t{size} * d_model);  // W_Vᵀ
  layer.weights->value.weight.read(kv_head * size, size, value);
  const model::Parameter& output = layer.weights->output->weight;  // W_Oᵀ of all heads
  const std::size_t width = output.axis(1);
  std::vector<float> rows(kRowsAtOnce * width);
  std::vector<double> product(std::size_t{size} * size, 0.0);  // W_O·W_V
  std::vector<double> column(size);
  for (std::uint32_t first = 0; first < d_model; first += kRowsAtOnce) {
    const std::uint32_t count = std::min(kRowsAtOnce, d_model - first);
    output.read(first, count, std::span(rows).first(count * width));
    for (std::uint32_t row = 0; row < count; ++row) {
      const auto written = std::span(rows).subspan(row * width + std::size_t{head} * size, size);
      for (std::size_t j = 0; j < size; ++j) column[j] = double{value[j * d_model + first + row]};
      for (std::size_t i = 0; i < size; ++i) {
        const double factor = double{written[i]};
        for (std::size_t j = 0; j < size; ++j) product[i * size + j] += factor * column[j];
      }
    }
  }
  return eigenvalue_ratio(product, size);
}

std::optional<double> eigenvalue_ratio(std::span<const double> matrix, std::uint32_t size) {
  for (const double number : matrix) {
    if (!std::isfinite(number)) return std::nullopt;  // Eigen would search for ever
  }
  const Eigen::Map<const Matrix> map(matrix.data(), size, size);
  const Eigen::EigenSolver<Matrix> solver(map, false);
  if (solver.info() != Eigen::Success) return std::nullopt;
  double sum = 0.0, sizes = 0.0;
  for (Eigen::Index i = 0; i < solver.eigenvalues().size(); ++i) {
    sum += solver.eigenvalues()[i].real();
    sizes += std::abs(solver.eigenvalues()[i]);
  }
  return sizes > 0.0 ? std::optional(sum / sizes) : std::nullopt;
}

}  // namespace headlight::attribution
