// The cost of moving over a large map on the device: cells that it evaluates, counted, not timed.
#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

#include "app/engine/engine.h"
#include "app/shapes/quantities/map_tiles.h"
#include "engine/fake_runner.h"

namespace map_zoom_test {

using namespace headlight;
using namespace headlight::app;
using attention::Pooling;
using attention::Stage;

namespace {

constexpr std::uint32_t kTokens = 4'096;

/// The engine, asked for the tiles of a rectangle of one head's map.
class ZoomedMap {
 public:
  explicit ZoomedMap(Pooling pooling) : pooling_(pooling) {
    State state;
    state.playground().settings.layers = 1;
    state.playground().settings.heads = 1;
    state.playground().settings.d_model = 4;
    for (std::uint32_t i = 0; i < kTokens; ++i) state.text() += "w ";
    inputs_ = run_inputs(state);
    // The first tile of a head reads besides what tells the head's largest weight.
    answer({TileQuery{.quantity = Stage::Weights, .rows = 1, .columns = 1}});
  }

  /// Cells that the device evaluates until a view of `edge` × `edge` cells from one on is answered at this level.
  std::size_t look_at(std::uint32_t row, std::uint32_t column, std::uint32_t edge, std::uint32_t level) {
    const TileQuery map{.quantity = Stage::Weights,
                        .row = row,
                        .rows = edge,
                        .column = column,
                        .columns = edge,
                        .pool = 1U << level,
                        .pooling = pooling_};
    std::vector<Query> queries;
    for (const MapTile& tile : tiles_over(map)) queries.emplace_back(tile_query(map, kTokens, kTokens, tile));
    return answer(queries);
  }

 private:
  std::size_t answer(const std::vector<Query>& queries) {
    const std::size_t before = log_->cells;
    engine_.request({.revision = ++revision_, .inputs = inputs_, .queries = queries});
    engine_.wait_until_idle();
    result_ = engine_.poll().value_or(result_);
    CHECK(result_.error == "");
    for (const Query& query : queries) CHECK(result_.tiles.contains(std::get<TileQuery>(query)));
    return log_->cells - before;
  }

  Pooling pooling_;
  std::shared_ptr<FakeLog> log_ = std::make_shared<FakeLog>();
  Engine engine_{{.open = fake_factory(log_), .device = "fake", .wake = {}}};
  RunInputs inputs_;
  EngineResult result_;
  std::uint64_t revision_ = 0;
};

constexpr std::size_t square(std::size_t edge) { return edge * edge; }

}  // namespace

TEST_SUITE_BEGIN("cpu");

TEST_CASE("zooming out evaluates only what no finer tile has shown, zooming back in nothing") {
  for (const Pooling pooling : {Pooling::Max, Pooling::Mean}) {
    ZoomedMap map(pooling);
    CHECK(map.look_at(1024, 1024, 1024, 0) == square(1024));
    // The four whole tiles of level 1 have nothing new; then three quarters of the view are new.
    CHECK(map.look_at(1024, 1024, 1024, 1) == 0);
    CHECK(map.look_at(0, 0, 2048, 1) == square(2048) - square(1024));
    CHECK(map.look_at(0, 0, 4096, 2) == square(4096) - square(2048));
    // Zooming from level 0 to the whole map at once, past the levels between them, evaluates another corner of the map
    // and nothing more.
    CHECK(map.look_at(3072, 3072, 1024, 0) == square(1024));
    CHECK(map.look_at(0, 0, 4096, 4) == 0);
    for (const std::uint32_t level : {2U, 1U, 0U}) CHECK(map.look_at(1024, 1024, 1024, level) == 0);
  }
}

TEST_CASE("zooming out around a point to the whole map and back in evaluates each of its cells once") {
  ZoomedMap map(Pooling::Max);
  std::vector<std::size_t> costs;  // in tiles of level 0
  const auto look = [&](std::uint32_t edge, std::uint32_t level) {
    constexpr std::uint32_t kCenter = 1'700;
    const std::uint32_t first = kCenter - std::min(edge / 2, kCenter);
    costs.push_back(map.look_at(first, first, std::min(edge, kTokens - first), level) / square(kMapTileEdge));
  };
  look(700, 0);
  look(1'400, 1);
  look(2'800, 2);
  look(4'096, 3);
  look(4'096, 4);
  look(2'800, 2);
  look(700, 0);
  // Costs were 16, 60, 240, 0, 0, 0 and 0, 316 instead of 256, when a tile was reduced only from all four tiles below
  // it.
  CHECK(costs == std::vector<std::size_t>{16, 48, 192, 0, 0, 0, 0});
}

TEST_CASE("a tile of which little is known is asked for as a whole, in one piece") {
  ZoomedMap map(Pooling::Max);
  CHECK(map.look_at(0, 0, 256, 0) == square(256));
  CHECK(map.look_at(0, 0, 2048, 3) == square(2048));  // a 64th of it is known: not worth the pieces
  CHECK(map.look_at(2048, 0, 1024, 1) == square(1024));
  CHECK(map.look_at(2048, 0, 2048, 3) == square(2048) - square(1024));  // a quarter of it is
}

TEST_SUITE_END();

}  // namespace map_zoom_test
