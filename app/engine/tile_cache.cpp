#include "app/engine/tile_cache.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "chart/value_scale.h"

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

std::size_t bytes_of(const EngineTile& known) {
  const attention::Tile& tile = *known.tile;
  return sizeof(tile) + tile.masked.size() +
         (tile.values.size() + tile.row_max.size() + tile.row_sum.size()) * sizeof(float) + known.facts->bytes();
}

bool has_same_shape(model::BlockRef block, const BlockShapes& before, const BlockShapes& after) {
  const auto left = before.find(block);
  const auto right = after.find(block);
  if (left == before.end() || right == after.end()) return false;
  const inference::BlockShape& a = left->second;
  const inference::BlockShape& b = right->second;
  return a.batch == b.batch && a.heads == b.heads && a.queries == b.queries && a.keys == b.keys && a.d_model == b.d_model &&
         a.d_k == b.d_k && a.d_v == b.d_v && a.d_merged == b.d_merged && a.d_output == b.d_output &&
         a.has_input == b.has_input;
}

/// Of what a tile depends on in a run whose blocks have these versions; 0: unknown.
std::uint64_t version_of(const TileQuery& query, const BlockVersions& versions) {
  if (quantity(query.quantity).scope != Scope::Kind) {
    const auto found = versions.find(query.block);
    return found == versions.end() ? 0 : found->second;
  }
  std::uint64_t newest = 0;  // a block that is computed anew gets the largest number so far
  for (const auto& [block, version] : versions) {
    if (block.kind == query.block.kind) newest = std::max(newest, version);
  }
  return newest;
}

/// The same of the other run of a difference.
std::uint64_t baseline_version_of(const TileQuery& query, const BlockVersions& versions) {
  return quantity(query.quantity).base ? version_of(query, versions) : 0;
}

}  // namespace

EngineTile make_engine_tile(attention::Tile tile, std::uint64_t run, std::uint64_t version) {
  auto facts = std::make_shared<const TileFacts>(make_tile_facts(tile));
  return {.tile = std::make_shared<const attention::Tile>(std::move(tile)),
          .run = run,
          .version = version,
          .facts = std::move(facts)};
}

bool TileCache::is_up_to_date(const TileQuery& query, const EngineTile& known) const {
  const std::uint64_t version = version_of(query, versions_);
  return version != 0 && known.version == version &&
         known.baseline_version == baseline_version_of(query, baseline_versions_);
}

EngineTiles::iterator TileCache::drop(EngineTiles::iterator entry) {
  bytes_ -= bytes_of(entry->second);
  wanted_at_.erase(entry->first);
  return tiles_.erase(entry);
}

void TileCache::begin_run(std::uint64_t run, const BlockShapes& before, const BlockShapes& after, BlockVersions versions) {
  run_ = run;
  versions_ = std::move(versions);
  for (auto entry = tiles_.begin(); entry != tiles_.end();) {
    if (!has_same_shape(entry->first.block, before, after)) {
      entry = drop(entry);
      continue;
    }
    if (is_up_to_date(entry->first, entry->second)) entry->second.run = run;
    ++entry;
  }
}

void TileCache::compare_with(BlockVersions baseline) {
  if (baseline == baseline_versions_) return;
  baseline_versions_ = std::move(baseline);
  for (auto entry = tiles_.begin(); entry != tiles_.end();) {
    if (!quantity(entry->first.quantity).base) {
      ++entry;
    } else if (baseline_versions_.empty()) {
      entry = drop(entry);
    } else {
      entry->second.run = is_up_to_date(entry->first, entry->second) ? run_ : 0;
      ++entry;
    }
  }
}

std::vector<TileQuery> TileCache::missing(std::span<const TileQuery> queries) {
  ++clock_;
  std::vector<TileQuery> result;
  std::set<TileQuery> seen;
  for (const TileQuery& query : queries) {
    if (!seen.insert(query).second) continue;
    wanted_at_[query] = clock_;
    const auto found = tiles_.find(query);
    if (found == tiles_.end() || found->second.run != run_) result.push_back(query);
  }
  // A query that a later one replaced before its tile was evaluated will never be evicted with a tile.
  std::erase_if(wanted_at_, [&](const auto& entry) { return entry.second < clock_ && !tiles_.contains(entry.first); });
  evict();
  return result;
}

Task<void> TileCache::add_evaluated(TileQuery query, Evaluation evaluation) {
  attention::Tile tile = co_await std::move(evaluation);
  add(query, std::move(tile));
}

void TileCache::add(const TileQuery& query, attention::Tile tile) {
  if (const auto old = tiles_.find(query); old != tiles_.end()) bytes_ -= bytes_of(old->second);
  EngineTile& known = tiles_[query] = make_engine_tile(std::move(tile), run_, version_of(query, versions_));
  known.baseline_version = baseline_version_of(query, baseline_versions_);
  bytes_ += bytes_of(known);
  wanted_at_.try_emplace(query, clock_);
  evict();
}

void TileCache::evict() {
  if (bytes_ <= budget_bytes_) return;
  std::vector<std::pair<std::uint64_t, TileQuery>> oldest_first;
  for (const auto& [query, entry] : tiles_) {
    const std::uint64_t wanted_at = wanted_at_[query];
    if (wanted_at < clock_) oldest_first.emplace_back(wanted_at, query);
  }
  std::sort(oldest_first.begin(), oldest_first.end());
  for (const auto& [wanted_at, query] : oldest_first) {
    if (bytes_ <= budget_bytes_) return;
    drop(tiles_.find(query));
  }
}

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
  facts.high_weight = chart::high_value(tile.values, tile.masked);
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
  if (tile.largest > 0.0F) return tile.largest;
  float least_sum = std::numeric_limits<float>::infinity();
  for (const float sum : tile.row_sum) least_sum = sum > 0.0F ? std::min(least_sum, sum) : least_sum;
  return 1.0F / least_sum;
}

chart::ValueLimits weight_limits(const TileFacts& facts, ColorRange range) {
  const float high = range == ColorRange::Quantile && facts.high_weight > 0.0F ? facts.high_weight : facts.largest_weight;
  return {.low = 0.0F, .high = high > 0.0F ? high : 1.0F};
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
