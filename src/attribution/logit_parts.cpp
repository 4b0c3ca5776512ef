#include "attribution/logit_parts.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "core/tensor.h"

namespace headlight::attribution {
namespace {

/// Rows of W_O decoded at once.
constexpr std::uint32_t kBatchedRows = 64;

}  // namespace

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
      const double factor = direction[first + row];
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
  if (output.has_bias()) result.attention_bias = direction.of(output.bias.tensor().values);
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
