// Facts about a tile that are found once: row statistics, sums by key, ranges.
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "app/engine/run_source.h"
#include "app/engine/tile_cache.h"
#include "app/shapes/quantities/evaluation.h"
#include "engine/evaluate.h"
#include "engine/reference_runner.h"

namespace tile_facts_test {

using namespace headlight;
using namespace headlight::app;
using attention::Stage;

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Weights [rows, columns] of the matrix from (row 4, column `first`) on.
attention::Tile weights(std::uint32_t rows, std::uint32_t columns, std::vector<float> values, std::uint32_t first = 0) {
  attention::Tile tile;
  tile.request = {.stage = Stage::Weights, .row = 4, .rows = rows, .column = first, .columns = columns};
  tile.values = std::move(values);
  tile.masked.assign(tile.values.size(), 0);
  tile.row_max.assign(rows, 0.0F);
  tile.row_sum.assign(rows, 1.0F);
  return tile;
}

}  // namespace

TEST_SUITE_BEGIN("cpu");

TEST_CASE("a row's largest weight, its key and its entropy in nats") {
  const TileFacts facts = make_tile_facts(weights(4, 4,
                                                  {0.0F, 1.0F, 0.0F, 0.0F,      // one key
                                                   0.25F, 0.25F, 0.25F, 0.25F,  // four alike
                                                   0.5F, 0.0F, 0.25F, 0.25F,    //
                                                   0.125F, 0.125F, 0.25F, 0.5F}));
  REQUIRE(facts.rows.size() == 4);
  CHECK(facts.rows[0].largest == 1.0F);
  CHECK(facts.rows[0].key == 1);
  CHECK(facts.rows[0].entropy == 0.0F);
  CHECK_FALSE(std::signbit(facts.rows[0].entropy));
  CHECK(facts.rows[1].largest == 0.25F);
  CHECK(facts.rows[1].key == 0);  // the first of equals
  CHECK(facts.rows[1].entropy == doctest::Approx(std::log(4.0)).epsilon(1e-6));
  CHECK(facts.rows[2].largest == 0.5F);
  CHECK(facts.rows[2].key == 0);
  CHECK(facts.rows[2].entropy == doctest::Approx(1.5 * std::log(2.0)).epsilon(1e-6));
  CHECK(facts.rows[3].key == 3);
  CHECK(facts.rows[3].entropy == doctest::Approx(1.75 * std::log(2.0)).epsilon(1e-6));
  CHECK(facts.received == std::vector{0.875F, 1.375F, 0.75F, 1.0F});
}

TEST_CASE("keys are the matrix' columns, also of a tile that begins later") {
  const TileFacts facts = make_tile_facts(weights(2, 2, {0.5F, 0.25F, 0.0F, 0.125F}, 30));
  REQUIRE(facts.rows.size() == 2);
  CHECK(facts.rows[0].key == 30);
  CHECK(facts.rows[1].key == 31);
  CHECK(facts.received == std::vector{0.5F, 0.375F});
}

TEST_CASE("rows without weights and rows that aren't numbers have no largest key") {
  attention::Tile tile = weights(3, 2, {0.0F, 0.0F, 0.5F, kNaN, 0.75F, 0.25F});
  tile.masked = {1, 1, 0, 0, 0, 0};
  tile.row_sum = {0.0F, kNaN, 4.0F / 3.0F};
  const TileFacts facts = make_tile_facts(tile);
  REQUIRE(facts.rows.size() == 3);
  CHECK(facts.rows[0].largest == 0.0F);
  CHECK_FALSE(facts.rows[0].key);
  CHECK(facts.rows[0].entropy == 0.0F);
  CHECK(std::isnan(facts.rows[1].largest));
  CHECK_FALSE(facts.rows[1].key);
  CHECK(std::isnan(facts.rows[1].entropy));
  CHECK(facts.rows[2].key == 0);
  CHECK(facts.received[0] == 1.25F);
  CHECK(std::isnan(facts.received[1]));
  CHECK(facts.has_masked);
  CHECK(facts.has_odd);
  CHECK(facts.largest_weight == 0.75F);
  CHECK(std::isnan(facts.concentration));  // a mean over rows, one of which is no number
  CHECK(facts.row_scales == std::vector{0.0F, 0.0F, 4.0F / 3.0F});
}

TEST_CASE("a row that is fully masked with a finite fill attends to all keys alike") {
  attention::Tile tile = weights(1, 4, {0.25F, 0.25F, 0.25F, 0.25F});
  tile.masked.assign(4, 1);
  tile.row_sum = {4.0F};
  const TileFacts facts = make_tile_facts(tile);
  CHECK(facts.rows.front().largest == 0.25F);
  CHECK(facts.rows.front().entropy == doctest::Approx(std::log(4.0)).epsilon(1e-6));
}

TEST_CASE("pooled weights and other stages have no row statistics, but a range") {
  attention::Tile tile = weights(4, 4, {0.5F, 0.25F, 0.75F, 0.125F});
  tile.request.pool = 2;
  tile.row_sum = {2.0F, 4.0F, 1.0F / 0.75F, 0.0F};
  const TileFacts pooled = make_tile_facts(tile);
  CHECK(pooled.rows.empty());
  CHECK(pooled.received.empty());
  CHECK(pooled.largest_weight == 0.75F);
  CHECK(pooled.row_scales == std::vector{2.0F, 1.0F / 0.75F});
  CHECK(pooled.range.low == 0.125F);
  attention::Tile scores = weights(2, 2, {-3.0F, 0.5F, kInfinity, -kInfinity});
  scores.request.stage = Stage::Masked;
  scores.masked = {0, 0, 0, 1};
  const TileFacts facts = make_tile_facts(scores);
  CHECK(facts.rows.empty());
  CHECK(facts.received.empty());
  CHECK(facts.row_scales.empty());
  CHECK(facts.range.low == -3.0F);
  CHECK(facts.range.high == 0.5F);
  CHECK(facts.has_odd);
  CHECK(make_tile_facts({}).range.high == 0.0F);
}

TEST_CASE("statistics of a run and of a mean over its heads are those of the numbers shown") {
  State state;
  state.text() = "one two three four five";
  state.playground().settings.d_model = 12;
  state.playground().settings.heads = 3;
  state.masks[model::BlockKind::EncoderSelf].rule.causal = true;
  RunSource sources;
  const RunSource::Source& source = sources.build(run_inputs(state));
  const ReferenceRun run({.network = source.network, .input = *source.input, .masks = state.masks});
  const model::BlockRef block = run.blocks().front();
  for (const QuantityId id : {QuantityId(Stage::Weights), kMeanOfLayer, kMeanOfKind}) {
    const TileQuery whole{
        .quantity = id, .block = block, .rows = run.shape(block).queries, .columns = run.shape(block).keys};
    const attention::Tile tile = evaluate({.run = run}, whole);
    const TileFacts facts = make_tile_facts(tile);
    REQUIRE(facts.rows.size() == whole.rows);
    double total = 0.0;
    for (std::uint32_t row = 0; row < whole.rows; ++row) {
      const RowStatistics& statistics = facts.rows[row];
      REQUIRE(statistics.key);
      CHECK(tile.at(row, *statistics.key) == statistics.largest);
      CHECK(statistics.largest * tile.row_sum[row] == doctest::Approx(1.0).epsilon(1e-6));
      CHECK(*statistics.key <= row);
      CHECK(statistics.entropy <= std::log(row + 1.0) + 1e-6);
    }
    CHECK(facts.rows[0].largest == 1.0F);
    for (const float sum : facts.received) total += double{sum};
    CHECK(total == doctest::Approx(whole.rows).epsilon(1e-6));
  }
}

TEST_SUITE_END();

}  // namespace tile_facts_test
