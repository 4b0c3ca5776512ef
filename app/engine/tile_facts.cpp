#include "app/engine/tile_facts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace headlight::app {
namespace {

/// One pass over a row of weights. The logarithm is of single precision, as the weights are.
RowStatistics row_statistics(std::span<const float> weights) {
  RowStatistics row;
  double entropy = 0.0;
  for (std::size_t key = 0; key < weights.size(); ++key) {
    const float weight = weights[key];
    if (std::isnan(weight)) {
      constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
      return {.largest = kNaN, .key = std::nullopt, .entropy = kNaN};
    }
    if (!(weight > 0.0F)) continue;
    entropy -= double{weight} * double{std::log(weight)};
    if (weight <= row.largest) continue;
    row.largest = weight;
    row.key = static_cast<std::uint32_t>(key);
  }
  row.entropy = static_cast<float>(std::max(entropy, 0.0));  // a weight may be rounded to a little more than 1
  return row;
}

void add_rows(TileFacts& facts, const attention::Tile& tile) {
  const attention::TileRequest& request = tile.request;
  std::vector<double> received(request.columns, 0.0);
  facts.rows.reserve(request.rows);
  for (std::uint32_t row = 0; row < request.rows; ++row) {
    const std::span<const float> weights =
        std::span(tile.values).subspan(std::size_t{row} * request.columns, request.columns);
    RowStatistics statistics = row_statistics(weights);
    if (statistics.key) *statistics.key += request.column;
    facts.rows.push_back(statistics);
    for (std::uint32_t column = 0; column < request.columns; ++column) received[column] += double{weights[column]};
  }
  facts.received.assign(received.begin(), received.end());
}

float high_weight(const attention::Tile& weights) {
  constexpr std::size_t kSamples = 4096;
  constexpr std::size_t kLeastCells = 16;
  std::vector<float> samples;
  const std::size_t step = std::max<std::size_t>(weights.values.size() / kSamples, 1);
  for (std::size_t cell = 0; cell < weights.values.size(); cell += step) {
    const bool is_masked = !weights.masked.empty() && weights.masked[cell] != 0;
    if (!is_masked && std::isfinite(weights.values[cell])) samples.push_back(weights.values[cell]);
  }
  if (samples.size() < kLeastCells) return 0.0F;
  const auto most = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() * 98 / 100);
  std::ranges::nth_element(samples, most);
  return *most;
}

}  // namespace

std::size_t TileFacts::bytes() const {
  return sizeof(TileFacts) + (row_scales.size() + received.size()) * sizeof(float) + rows.size() * sizeof(RowStatistics);
}

bool comes_after_mask(attention::Stage stage) {
  return stage == attention::Stage::Masked || stage == attention::Stage::Weights;
}

TileFacts make_tile_facts(const attention::Tile& tile) {
  const attention::TileRequest& request = tile.request;
  TileFacts facts;
  facts.has_masked = std::ranges::any_of(tile.masked, [](std::uint8_t masked) { return masked != 0; });
  for (std::size_t cell = 0; cell < tile.values.size() && !facts.has_odd; ++cell) {
    facts.has_odd = !std::isfinite(tile.values[cell]) && (tile.masked.empty() || tile.masked[cell] == 0);
  }
  for (std::size_t cell = 0; cell < tile.masked.size() && !facts.has_missing; ++cell) {
    facts.has_missing = tile.masked[cell] != 0 && std::isnan(tile.values[cell]);
  }
  facts.range = visible_range(tile);
  // A difference of weights has no row sums: its values are no distribution.
  if (request.stage != attention::Stage::Weights || tile.row_sum.empty()) return facts;
  const bool has_means = !request.is_exact() && request.pooling == attention::Pooling::Mean;
  facts.largest_weight = has_means ? facts.range.high : largest_weight(tile);
  facts.high_weight = high_weight(tile);
  facts.concentration = concentration(tile, request.rows, std::max(request.rows, 1U));
  facts.row_scales = row_normalizers(tile);
  const bool is_exact = request.is_exact() && tile.values.size() == std::size_t{request.rows} * request.columns;
  if (is_exact) add_rows(facts, tile);
  return facts;
}

ValueRange visible_range(const attention::Tile& tile) {
  const bool has_mask = comes_after_mask(tile.request.stage) && !tile.masked.empty();
  ValueRange range{.low = std::numeric_limits<float>::max(), .high = std::numeric_limits<float>::lowest()};
  for (std::size_t i = 0; i < tile.values.size(); ++i) {
    if (has_mask && tile.masked[i] != 0) continue;
    const float value = tile.values[i];
    if (!std::isfinite(value)) continue;
    range.low = std::min(range.low, value);
    range.high = std::max(range.high, value);
  }
  return range.low > range.high ? ValueRange{} : range;
}

float largest_weight(const attention::Tile& tile) {
  float least_sum = std::numeric_limits<float>::infinity();
  for (const float sum : tile.row_sum) least_sum = sum > 0.0F ? std::min(least_sum, sum) : least_sum;
  return 1.0F / least_sum;
}

std::vector<float> row_normalizers(const attention::Tile& tile) {
  std::vector<float> factors(tile.request.tile_rows(), 0.0F);
  const std::size_t rows = std::min<std::size_t>(tile.row_sum.size(), tile.request.rows);
  for (std::size_t row = 0; row < rows; ++row) {
    float& factor = factors[row / tile.request.pool];
    const float sum = tile.row_sum[row];
    if (sum > 0.0F) factor = factor > 0.0F ? std::min(factor, sum) : sum;
  }
  return factors;
}

float concentration(const attention::Tile& tile, attention::KeyRange queries, std::uint32_t max_rows) {
  double total = 0.0;
  std::uint32_t count = 0;
  const std::size_t end = std::min<std::size_t>(queries.end, tile.row_sum.size());
  const std::size_t rows = end > queries.begin ? end - queries.begin : 0;
  const std::size_t step = rows > max_rows ? rows / max_rows : 1;
  for (std::size_t row = queries.begin; row < end; row += step) {
    if (tile.row_sum[row] == 0.0F) continue;
    total += 1.0 / double{tile.row_sum[row]};  // NaN stays
    ++count;
  }
  return count > 0 ? static_cast<float>(total / count) : 0.0F;
}

}  // namespace headlight::app
