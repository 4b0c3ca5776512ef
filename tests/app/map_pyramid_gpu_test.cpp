// Every level of a long run's pyramid against a double-precision reference, and what a mask hides costs nothing.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "app/shapes/quantities/evaluation.h"
#include "app/shapes/quantities/map_tiles.h"
#include "engine/evaluate.h"
#include "inference/random_network.h"
#include "inference/session.h"
#include "support/deviation.h"
#include "support/error_message.h"
#include "support/gpu.h"
#include "support/running_session.h"

namespace map_pyramid_gpu_test {

using namespace headlight;
using namespace headlight::app;
using attention::Pooling;
using attention::Stage;

namespace {

constexpr std::uint32_t kWidth = 16, kHead = 8;
constexpr model::AttentionConfig kConfig{.d_model = kWidth, .heads = 2, .d_k = kHead, .d_v = kHead};

/// Largest value and sum of squares of cells, one number a square.
struct Level {
  std::vector<double> largest, sum;
};

/// One causal layer over random vectors, computed by the device and, head 1 row by row, in double precision.
class LongRun {
 public:
  LongRun(gpu::Context& context, std::uint32_t tokens) : tokens_(tokens), session_(context) {
    test::Random random(91);
    weights_ = test::random_weights(random, kConfig, true, true);
    x_ = random.tensor({1, tokens, kWidth}, 2.0F);
    model::ModelInput input;
    input.source = {.length = tokens, .lengths = {tokens}, .ids = {}, .vectors = x_};
    attention::MaskSet masks;
    masks.by_kind[0].rule.causal = true;
    session_.run(test::single_layer(kConfig, weights_), input, masks);
    query_ = project(weights_.query);
    key_ = project(weights_.key);
  }

  const inference::Run& run() const { return *session_.newest(); }
  std::uint32_t levels() const { return static_cast<std::uint32_t>(std::bit_width((tokens_ - 1) / kMapTileEdge)) + 1; }
  TileQuery map(Pooling pooling) const { return {.quantity = Stage::Weights, .head = 1, .pooling = pooling}; }

  /// Largest weight and sum over the squares of all given tiles, in one pass over the rows.
  std::map<TileQuery, Level> reference(const std::vector<TileQuery>& tiles) const {
    std::map<TileQuery, Level> levels;
    for (const TileQuery& tile : tiles) {
      const std::size_t count = std::size_t{tile.tile_rows()} * tile.tile_columns();
      levels[tile] = {.largest = std::vector<double>(count, 0.0), .sum = std::vector<double>(count, 0.0)};
    }
    for (std::uint32_t row = 0; row < tokens_; ++row) {
      const std::vector<double> weights = row_of(row);
      for (auto& [tile, level] : levels) {
        if (row < tile.row || row >= tile.row + tile.rows) continue;
        const std::size_t at = std::size_t{(row - tile.row) / tile.pool} * tile.tile_columns();
        for (std::uint32_t c = 0; c < tile.columns && tile.column + c <= row; ++c) {
          const double weight = weights[tile.column + c];
          level.largest[at + c / tile.pool] = std::max(level.largest[at + c / tile.pool], weight);
          level.sum[at + c / tile.pool] += weight;
        }
      }
    }
    return levels;
  }

  /// Random tiles of a level, at most as many as it has.
  std::vector<TileQuery> some_tiles(test::Random& random, std::uint32_t level, std::size_t count) const {
    const std::uint32_t edge = (tokens_ + (kMapTileEdge << level) - 1) / (kMapTileEdge << level);
    std::set<MapTile> tiles;
    for (int tries = 0; tiles.size() < std::min<std::size_t>(count, std::size_t{edge} * edge) && tries < 100'000; ++tries) {
      tiles.insert({.level = level, .y = random.below(edge), .x = random.below(edge)});
    }
    std::vector<TileQuery> queries;
    for (const MapTile& tile : tiles) queries.push_back(tile_query(map(Pooling::Max), tokens_, tokens_, tile));
    return queries;
  }

 private:
  /// [token, kHead] of head 1, biases included.
  std::vector<double> project(const model::Linear& linear) const {
    std::vector<double> result;
    for (std::uint32_t token = 0; token < tokens_; ++token) {
      for (std::uint32_t out = kHead; out < 2 * kHead; ++out) {
        double sum = double{linear.bias.values()[out]};
        for (std::uint32_t i = 0; i < kWidth; ++i) {
          sum += double{x_.values[std::size_t{token} * kWidth + i]} *
                 double{linear.weight.values()[std::size_t{out} * kWidth + i]};
        }
        result.push_back(sum);
      }
    }
    return result;
  }

  std::vector<double> row_of(std::uint32_t row) const {
    std::vector<double> weights(row + 1);
    double top = -1e300, total = 0.0;
    for (std::uint32_t key = 0; key <= row; ++key) {
      double score = 0.0;
      for (std::uint32_t d = 0; d < kHead; ++d) {
        score += query_[std::size_t{row} * kHead + d] * key_[std::size_t{key} * kHead + d];
      }
      weights[key] = score * double{kConfig.scale.factor(kHead)};
      top = std::max(top, weights[key]);
    }
    for (double& weight : weights) total += weight = std::exp(weight - top);
    for (double& weight : weights) weight /= total;
    return weights;
  }

  std::uint32_t tokens_;
  test::RunningSession session_;
  model::AttentionWeights weights_;
  Tensor x_;
  std::vector<double> query_, key_;
};

void check_pyramid(gpu::Context& context, std::uint32_t tokens, std::size_t tiles_each) {
  const LongRun run(context, tokens);
  test::Random random(92);
  std::vector<TileQuery> tiles;
  for (std::uint32_t level = 0; level < run.levels(); ++level) {
    for (const TileQuery& tile : run.some_tiles(random, level, tiles_each)) tiles.push_back(tile);
  }
  std::size_t hidden = 0;
  for (const auto& one : run.reference(tiles)) {
    const auto& tile = one.first;
    const auto& expected = one.second;
    CAPTURE(tile.pool);
    CAPTURE(tile.row);
    CAPTURE(tile.column);
    for (const Pooling pooling : {Pooling::Max, Pooling::Mean}) {
      TileQuery query = tile;
      query.pooling = tile.pool > 1 ? pooling : Pooling::Max;
      const attention::Tile found = evaluate({.run = run.run()}, query);
      REQUIRE(found.values.size() == expected.largest.size());
      double worst = 0.0;
      std::size_t wrong = 0;
      for (std::uint32_t y = 0; y < query.tile_rows(); ++y) {
        for (std::uint32_t x = 0; x < query.tile_columns(); ++x) {
          const std::size_t at = std::size_t{y} * query.tile_columns() + x;
          const std::uint32_t rows = std::min(query.pool, query.rows - y * query.pool);
          const std::uint32_t columns = std::min(query.pool, query.columns - x * query.pool);
          const double mean = expected.sum[at] / (double{1.0} * rows * columns);
          const double value = query.pooling == Pooling::Mean ? mean : expected.largest[at];
          const double error = std::abs(double{found.values[at]} - value);
          worst = std::isnan(error) ? 1e300 : std::max(worst, error / std::max(value, 1e-30));
          const bool is_masked = query.column + x * query.pool > query.row + y * query.pool + rows - 1;
          if (is_masked && found.values[at] != 0.0F) ++wrong;  // exactly zero
          if (found.is_masked(y, x) != is_masked) ++wrong;
        }
      }
      CHECK(worst < 2e-4);  // relative, of weights down to 1e-30
      CHECK(wrong == 0);
    }
    if (tile.column > tile.row + tile.rows - 1) ++hidden;
  }
  CHECK(hidden > 0);
}

}  // namespace

TEST_SUITE_BEGIN("gpu");

TEST_CASE_FIXTURE(test::OnGpu, "tiles of every level of a 1,500-token run are the reference's") {
  check_pyramid(context, 1'500, 6);
}

TEST_CASE_FIXTURE(test::OnGpu, "tiles that the mask hides are zeros without a computation") {
  const LongRun run(context, 1'100);
  const TileQuery hidden = tile_query(run.map(Pooling::Max), 1'100, 1'100, {.level = 0, .y = 0, .x = 3});
  const attention::Tile tile = evaluate({.run = run.run()}, hidden);
  CHECK(std::ranges::all_of(tile.values, [](float value) { return value == 0.0F; }));
  CHECK(std::ranges::all_of(tile.masked, [](std::uint8_t masked) { return masked == 1; }));
  CHECK(tile.row_sum.size() == 256);
  TileQuery before_softmax = hidden;
  before_softmax.quantity = Stage::Masked;
  CHECK(std::ranges::all_of(evaluate({.run = run.run()}, before_softmax).values,
                            [](float value) { return std::isinf(value) && value < 0.0F; }));
}

TEST_CASE_FIXTURE(test::OnGpu,
                  "a sampled tile has the largest weights of its squares' first rows, exactly, and every row's (m, l)") {
  constexpr std::uint32_t kTokens = 1'100, kPool = 64;
  const LongRun run(context, kTokens);
  TileQuery query{.quantity = Stage::Weights, .head = 1, .rows = kTokens, .columns = kTokens};
  const attention::Tile exact = evaluate({.run = run.run()}, query);
  query.pool = kPool;
  const attention::Tile pooled = evaluate({.run = run.run()}, query);
  for (const std::uint32_t rows : {1U, 8U, 63U}) {
    CAPTURE(rows);
    query.sampled_rows = rows;
    const attention::Tile sampled = evaluate({.run = run.run()}, query);
    CHECK(sampled.row_sum == exact.row_sum);
    CHECK(sampled.row_max == exact.row_max);
    std::vector<float> largest(sampled.values.size(), 0.0F);
    std::vector<std::uint8_t> masked(sampled.values.size(), 1);
    for (std::uint32_t row = 0; row < kTokens; ++row) {
      if (row % kPool >= rows) continue;
      for (std::uint32_t column = 0; column < kTokens; ++column) {
        const std::size_t at = std::size_t{row / kPool} * query.tile_columns() + column / kPool;
        largest[at] = std::max(largest[at], exact.at(row, column));
        if (!exact.is_masked(row, column)) masked[at] = 0;
      }
    }
    double worst = 0.0;
    for (std::size_t at = 0; at < largest.size(); ++at) {
      test::widen(worst, sampled.values[at], largest[at]);
      CHECK(sampled.values[at] <= pooled.values[at]);  // a sample of what the whole square has
    }
    CHECK(worst < 1e-6);  // observed 0: kernels for exact and for pooled cells sum alike here
    CHECK(sampled.masked == masked);
  }
  query.sampled_rows = kPool;
  CHECK(test::error_message([&] {
          static_cast<void>(run.run().evaluate(std::vector{stage_request(query)}));
        }).starts_with("64 of 64 rows of a square can't be sampled of stage 'weights'"));
}

TEST_CASE_FIXTURE(test::OnGpu, "a tile reduced from exact ones is the one that the device pools, up to rounding") {
  constexpr std::uint32_t kTokens = 1'100;
  const LongRun run(context, kTokens);
  double worst_mean = 0.0;
  for (const Pooling pooling : {Pooling::Max, Pooling::Mean}) {
    const TileQuery coarse = tile_query(run.map(pooling), kTokens, kTokens, {.level = 2, .y = 0, .x = 0});
    std::vector<attention::Tile> tiles;
    for (const MapTile& tile : tiles_over({.rows = coarse.rows, .columns = coarse.columns, .pool = 1})) {
      tiles.push_back(evaluate({.run = run.run()}, tile_query(run.map(pooling), kTokens, kTokens, tile)));
    }
    std::vector<const attention::Tile*> parts;
    for (const attention::Tile& tile : tiles) parts.push_back(&tile);
    const attention::Tile reduced = reduce(coarse, parts), asked = evaluate({.run = run.run()}, coarse);
    CHECK(reduced.masked == asked.masked);
    CHECK(reduced.row_sum == asked.row_sum);
    double worst = 0.0;
    for (std::size_t at = 0; at < asked.values.size(); ++at) test::widen(worst, reduced.values[at], asked.values[at]);
    if (pooling == Pooling::Max) CHECK(worst < 1e-6);  // observed 0
    if (pooling == Pooling::Mean) worst_mean = worst;
  }
  CHECK(worst_mean < 1e-6);  // observed 1.5e-8
}

TEST_SUITE_END();

TEST_SUITE_BEGIN("slow");

TEST_CASE_FIXTURE(test::OnGpu, "64 random tiles of every level of an 8,192-token run are the reference's") {
  check_pyramid(context, 8'192, 64);
}

TEST_SUITE_END();

}  // namespace map_pyramid_gpu_test
