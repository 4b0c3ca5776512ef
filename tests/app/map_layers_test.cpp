// Large maps by tiles, the minimap, the token search and the strongest cells on the big heatmap, driven offscreen.
#include "app/widgets/map_layers.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

#include "app/panel_stage.h"
#include "app/quantities/map_tiles.h"

namespace map_layers_test {

using namespace headlight;
using namespace headlight::app;
using attention::Stage;
using shell::Key;

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

std::string words(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += "w" + std::to_string(i % 50) + " ";
  return text;
}

struct LargeMap {
  PanelStage stage;
  std::vector<Query> queries;

  MapLayers find(const MapView& view) {
    queries.clear();
    Frame frame{.ui = stage.shell.ui,
                .state = stage.state,
                .transient = stage.transient,
                .result = stage.result,
                .queries = queries};
    return find_layers(frame, view);
  }
  void answer(const TileQuery& query, float value) {
    stage.result.tiles[query] = make_engine_tile(flat_tile(stage_request(query), value), stage.result.run);
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
  map.stage.settle();
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
  map.stage.settle();
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
  map.stage.settle();
  map.stage.result.tiles.clear();  // of the small map on screen
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

TEST_CASE("a minimap appears where a map of many cells is zoomed in, and moves it") {
  PanelStage stage;
  stage.state.text() = words(200);
  stage.state.playground().settings.layers = 1;
  stage.state.playground().settings.heads = 2;
  stage.state.playground().settings.d_model = 8;
  stage.settle();
  CHECK_FALSE(stage.items.contains("head.minimap"));
  const view::Rect map = stage.rect("head.map");
  stage.feed({shell::MouseMove{map.center()}});
  for (int i = 0; i < 10; ++i) stage.feed({shell::MouseWheel{.steps = {0.0F, 1.0F}}});
  REQUIRE(stage.items.contains("head.minimap"));
  const view::Rect small = stage.rect("head.minimap");
  const view::Rect zoomed = stage.rect("head.map");
  CHECK(small.origin.x > zoomed.center().x);
  CHECK(small.end().x < zoomed.end().x);
  CHECK(small.end().y < zoomed.center().y);
  const float before = stage.transient.pan.x;
  const glm::vec2 inside(10.0F, 10.0F);
  stage.feed(shell::click_at({small.origin.x + inside.x, small.end().y - inside.y}));
  CHECK(stage.transient.pan.x < before - 20.0F);
  CHECK(stage.transient.pan.y > 20.0F);
  CHECK_FALSE(stage.state.view.pinned);  // the click was the minimap's
  stage.feed(shell::drag(small.origin + inside, {small.end().x - inside.x, small.origin.y + inside.y}));
  CHECK(stage.transient.pan.x > 20.0F);
  CHECK_FALSE(stage.transient.hovered);  // the cell below it isn't pointed at
  stage.settle();
  stage.feed(shell::tap(Key::Digit0));
  CHECK_FALSE(stage.items.contains("head.minimap"));
}

TEST_CASE("the search goes from token to token, and shows each on a zoomed map") {
  PanelStage stage;
  stage.state.text() = words(200);
  stage.state.playground().settings.layers = 1;
  stage.state.playground().settings.heads = 1;
  stage.state.playground().settings.d_model = 8;
  stage.transient.search.is_open = true;
  stage.transient.search.text = "W49";
  stage.transient.zoom = 8.0F;
  stage.settle();
  const auto go = [&](int steps) {
    stage.transient.search.steps = steps;
    stage.settle();
    REQUIRE(stage.state.view.pinned);
    CHECK_FALSE(stage.transient.reveals);
    return *stage.state.view.pinned;
  };
  CHECK(go(1) == attention::Cell{.query = 49, .key = 49});
  const float pan = stage.transient.pan.x;
  CHECK(go(1) == attention::Cell{.query = 99, .key = 99});
  CHECK(go(1) == attention::Cell{.query = 149, .key = 149});
  CHECK(stage.transient.pan.x > pan);
  CHECK(go(-1) == attention::Cell{.query = 99, .key = 99});
  const auto click = [&](const char* name) {
    const view::Rect button = stage.rect(name);
    stage.feed(shell::click_at(button.center()));
  };
  click("search.next");
  CHECK(stage.state.view.pinned == attention::Cell{.query = 149, .key = 149});
  click("search.previous");
  CHECK(stage.state.view.pinned == attention::Cell{.query = 99, .key = 99});
  click("search.close");
  CHECK_FALSE(stage.transient.search.is_open);
  CHECK_FALSE(stage.items.contains("search.text"));
}

TEST_CASE("the strongest cells of the map are pinned one after another, then those of its row") {
  PanelStage stage;
  stage.state.text() = words(30);
  stage.state.playground().settings.layers = 1;
  stage.state.playground().settings.heads = 1;
  stage.settle();
  const TileQuery whole{.quantity = Stage::Weights, .rows = 30, .columns = 30};
  const attention::Tile weights = *stage.result.tile(whole);
  std::vector<std::pair<float, attention::Cell>> ranked;
  for (std::uint32_t row = 0; row < 30; ++row) {
    for (std::uint32_t key = 0; key < 30; ++key) ranked.emplace_back(-weights.at(row, key), attention::Cell{row, key});
  }
  std::ranges::sort(ranked);
  const auto seek = [&](StrongestOf of) {
    stage.transient.seeks_strongest = of;
    stage.settle();
    CHECK_FALSE(stage.transient.seeks_strongest);
    REQUIRE(stage.state.view.pinned);
    return *stage.state.view.pinned;
  };
  CHECK(seek(StrongestOf::Map) == ranked[0].second);
  CHECK(seek(StrongestOf::Map) == ranked[1].second);
  const attention::Cell pinned = *stage.state.view.pinned;
  const auto next_of_row = std::ranges::find_if(ranked.begin() + 2, ranked.end(),
                                                [&](const auto& cell) { return cell.second.query == pinned.query; });
  CHECK(seek(StrongestOf::Row) == next_of_row->second);
  stage.state.view.pinned.reset();
  stage.transient.seeks_strongest = StrongestOf::Row;
  stage.settle();
  CHECK_FALSE(stage.transient.seeks_strongest);  // no row is meant
  CHECK_FALSE(stage.state.view.pinned);
}

TEST_SUITE_END();

}  // namespace map_layers_test
