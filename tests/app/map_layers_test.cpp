// The tiles that a large map asks for and draws.
#include "app/widgets/map_layers.h"

#include <doctest/doctest.h>

#include <variant>
#include <vector>

#include "app/engine/tile_cache.h"
#include "app/shapes/quantities/evaluation.h"
#include "app/shapes/quantities/map_tiles.h"
#include "app/shell/render_device.h"
#include "app/widgets/shown_tile.h"

namespace map_layers_test {

using namespace headlight;
using namespace headlight::app;
using attention::Stage;

namespace {

constexpr std::uint32_t kEdge = 5'000;

/// A tile whose values are all `value`.
attention::Tile flat_tile(const attention::TileRequest& request, float value) {
  attention::Tile tile{.request = request, .values = {}, .masked = {}, .row_max = {}, .row_sum = {}};
  tile.values.assign(std::size_t{request.tile_rows()} * request.tile_columns(), value);
  tile.masked.assign(tile.values.size(), 0);
  tile.row_max.assign(request.rows, 0.0F);
  tile.row_sum.assign(request.rows, 2.0F);
  return tile;
}

/// The state, queries and results of a map that no window draws.
struct LargeMap {
  shell::RenderDevice device{{}};
  shell::Ui ui{device};
  State state;
  Transient transient;
  EngineResult result;
  std::vector<Query> queries;

  MapLayers find(const MapView& view) {
    queries.clear();
    Frame frame{.ui = ui, .state = state, .transient = transient, .result = result, .queries = queries};
    return find_layers(frame, view);
  }
  void answer(const TileQuery& query, float value) {
    result.tiles[query] = make_engine_tile(flat_tile(stage_request(query), value), result.run);
  }
  std::vector<TileQuery> asked() const {
    std::vector<TileQuery> tiles;
    for (const Query& query : queries) tiles.push_back(std::get<TileQuery>(query));
    return tiles;
  }
};

MapView view_of(std::uint32_t row, std::uint32_t column) {
  const TileQuery map{.quantity = Stage::Weights};
  MapView view{.visible = map, .whole = map, .rows = kEdge, .columns = kEdge};
  view.visible.row = row;
  view.visible.column = column;
  view.visible.rows = view.visible.columns = 800;
  view.whole.rows = view.whole.columns = kEdge;
  view.whole.pool = 8;
  return view;
}

}  // namespace

TEST_SUITE_BEGIN("gpu");

TEST_CASE("a large map asks for what is visible, then for the rows' statistics, then for the whole, by aligned tiles") {
  LargeMap map;
  const MapLayers nothing = map.find(view_of(300, 700));
  CHECK(nothing.tiles.empty());
  CHECK_FALSE(nothing.summary.tile);
  const std::vector<TileQuery> asked = map.asked();
  REQUIRE(asked.size() == 4 * 4 + 1 + 3 * 3);  // rows 256 to 1,279 and columns 512 to 1,535; 5,000 / 8 / 256
  for (std::size_t i = 0; i < 16; ++i) {
    CHECK(asked[i].pool == 1);
    CHECK(asked[i].row % 256 == 0);
    CHECK(asked[i].rows == 256);
  }
  CHECK(asked[16].columns == 1);
  CHECK(asked[16].rows == kEdge);
  for (std::size_t i = 17; i < asked.size(); ++i) CHECK(asked[i].pool == 8);
  // Panning by a little asks for the same tiles.
  map.find(view_of(310, 690));
  CHECK(map.asked() == asked);
}

TEST_CASE("coarse tiles are drawn below sharp ones, and the range is the rows'") {
  LargeMap map;
  map.find(view_of(300, 700));
  const std::vector<TileQuery> asked = map.asked();
  map.answer(asked.back(), 0.25F);
  MapLayers layers = map.find(view_of(300, 700));
  REQUIRE(layers.tiles.size() == 1);
  CHECK(layers.whole.size() == 1);
  map.answer(asked[5], 0.125F);
  map.answer(asked[16], 0.1F);
  layers = map.find(view_of(300, 700));
  REQUIRE(layers.tiles.size() == 2);
  CHECK(layers.tiles.front().query.pool == 8);
  CHECK(layers.tiles.back().query == asked[5]);
  CHECK(layers.summary.facts->largest_weight == 0.5F);  // 1 / l of the column's rows, whatever tiles are known
  CHECK(layers.summary.facts->range.high == 0.0F);      // of flat tiles there is none
}

TEST_CASE("until a level's tile is there, the best that is known is drawn: coarser ones stretched, finer ones above them") {
  LargeMap map;
  MapView view = view_of(0, 0);
  view.visible.rows = view.visible.columns = 1600;  // four tiles of 1,024 × 1,024 cells
  view.visible.pool = 4;
  map.find(view);
  const std::vector<TileQuery> asked = map.asked();
  REQUIRE(asked.size() > 4);
  REQUIRE(asked[0].pool == 4);
  const auto tile = [&](std::uint32_t level, std::uint32_t y, std::uint32_t x) {
    return tile_query(view.visible, kEdge, kEdge, {.level = level, .y = y, .x = x});
  };
  const auto drawn = [&](const MapView& shown) {
    std::vector<std::uint32_t> pools;
    for (const ShownTile& layer : map.find(shown).tiles) pools.push_back(layer.query.pool);
    return pools;
  };
  map.answer(tile(4, 0, 0), 0.25F);  // covers all of the view, from a zoom that was farther out
  map.answer(tile(0, 1, 1), 0.75F);  // inside of the first tile, from a zoom that was nearer
  map.answer(tile(1, 1, 1), 0.5F);
  CHECK(drawn(view) == std::vector<std::uint32_t>{16, 2, 1});
  map.answer(asked[0], 0.5F);  // the exact level takes their place
  CHECK(drawn(view) == std::vector<std::uint32_t>{16, 4});
  // Zoomed in, the level that was exact is stretched until there is a finer one.
  MapView nearer = view_of(0, 0);
  nearer.visible.rows = nearer.visible.columns = 200;
  CHECK(drawn(nearer) == std::vector<std::uint32_t>{4});
  map.answer(tile(0, 0, 0), 0.5F);
  CHECK(drawn(nearer) == std::vector<std::uint32_t>{1});
  // The largest of finer means would look like no mean.
  view.visible.pooling = attention::Pooling::Mean;
  CHECK(drawn(view).empty());
}

TEST_SUITE_END();

}  // namespace map_layers_test
