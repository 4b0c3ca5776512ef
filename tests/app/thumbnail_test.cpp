// Thumbnails: their layout, and which tiles they show.
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "app/widgets/shown_tile.h"
#include "app/widgets/thumbnail.h"
#include "app/widgets/thumbnail_layout.h"

namespace thumbnail_test {

using namespace headlight;
using namespace headlight::app;
using attention::Stage;

TEST_SUITE_BEGIN("cpu");

TEST_CASE("thumbnails wrap, fill the width and only visible lines count") {
  const ThumbnailLayout layout(
      {.groups = 48, .per_group = 64, .width = 320.0F, .height = 800.0F, .gutter = 24.0F, .aspect = 1.0F, .caption = 16.0F});
  CHECK(layout.per_line() < 64);
  CHECK(layout.box(0, layout.per_line() - 1).x + layout.map_size().x <= 320.0F);
  CHECK(layout.box(0, layout.per_line()).x == layout.box(0, 0).x);
  CHECK(layout.box(47, 63).y + layout.map_size().y <= layout.height());
  const ThumbnailLayout::Lines lines = layout.visible_lines(1000.0F, 1300.0F);
  for (std::uint32_t line = 0; line < 48 * layout.lines_per_group(); ++line) {
    const float y = layout.box(line / layout.lines_per_group(), line % layout.lines_per_group() * layout.per_line()).y;
    const bool is_visible = y < 1300.0F && y + layout.map_size().y >= 1000.0F;
    CHECK(is_visible == (line >= lines.first && line < lines.end));
  }
}

TEST_CASE("a large model's heads shrink only as far as it takes to see them all") {
  const ThumbnailLayout::Request request{
      .groups = 12, .per_group = 12, .width = 280.0F, .height = 800.0F, .gutter = 24.0F, .aspect = 1.0F, .caption = 16.0F};
  const ThumbnailLayout all(request);
  CHECK_FALSE(all.has_captions());
  CHECK(all.height() <= 800.0F);
  CHECK(all.caption() == 0.0F);
  CHECK(all.box(0, all.per_line() - 1).x + all.map_size().x <= 280.0F);
  ThumbnailLayout::Request shallow = request;
  shallow.groups = 6;
  const ThumbnailLayout larger(shallow);
  CHECK(larger.height() <= 800.0F);
  CHECK(larger.map_size().x > all.map_size().x);
  ThumbnailLayout::Request roomy = request;
  roomy.width = 900.0F;
  roomy.height = 1200.0F;
  CHECK(ThumbnailLayout(roomy).has_captions());
  // Captions stay where nothing else says which map is which, and the maps scroll.
  ThumbnailLayout::Request sorted = request;
  sorted.needs_captions = true;
  CHECK(ThumbnailLayout(sorted).has_captions());
  CHECK(ThumbnailLayout(sorted).height() > 800.0F);
  // 48 × 64 heads don't fit; they stay large enough to be told apart, and scroll.
  ThumbnailLayout::Request most = request;
  most.groups = 48;
  most.per_group = 64;
  const ThumbnailLayout scrolled(most);
  CHECK_FALSE(scrolled.has_captions());
  CHECK(scrolled.height() > 800.0F);
  CHECK(scrolled.map_size().x >= 14.0F);
  const ThumbnailLayout::Lines lines = scrolled.visible_lines(0.0F, 800.0F);
  CHECK(lines.first == 0);
  CHECK((lines.end - lines.first) * scrolled.per_line() < 900);
}

TEST_CASE("the lines of a layer have equally many heads where their number allows it") {
  ThumbnailLayout::Request request{
      .groups = 4, .per_group = 8, .width = 240.0F, .height = 700.0F, .gutter = 26.0F, .aspect = 1.0F, .caption = 17.0F};
  int broken = 0;
  for (; request.width <= 900.0F; request.width += 1.0F) {
    const ThumbnailLayout layout(request);
    CAPTURE(request.width);
    CHECK(layout.height() <= request.height);
    CHECK(8 % layout.per_line() == 0);  // 4 + 4, never 3 + 3 + 2
    if (layout.lines_per_group() > 1) ++broken;
  }
  CHECK(broken > 0);
}

TEST_CASE("heads leave no holes: their lines are full from edge to edge, and only gaps are between them") {
  struct Model {
    std::uint32_t layers, heads;
  };
  for (const Model& model :
       {Model{1, 1}, Model{4, 8}, Model{12, 12}, Model{24, 16}, Model{6, 8}, Model{2, 16}, Model{32, 32}}) {
    for (const glm::vec2 room : {glm::vec2(268.0F, 300.0F), glm::vec2(400.0F, 480.0F), glm::vec2(690.0F, 700.0F)}) {
      const ThumbnailLayout layout({.groups = model.layers,
                                    .per_group = model.heads,
                                    .width = room.x,
                                    .height = room.y,
                                    .gutter = 26.0F,
                                    .aspect = 1.0F,
                                    .caption = 17.0F});
      CAPTURE(model.layers);
      CAPTURE(model.heads);
      CAPTURE(room.x);
      const float end = layout.box(0, layout.per_line() - 1).x + layout.map_size().x;
      CHECK(end <= room.x);
      CHECK(model.heads % layout.per_line() == 0);
      const bool is_at_its_limit = layout.map_size().x >= 256.0F || layout.lines_per_group() == 1;
      const bool is_full = end >= 26.0F + 0.85F * (room.x - 26.0F) - static_cast<float>(layout.per_line());
      CHECK((is_full || is_at_its_limit));
      const float between = layout.lines_per_group() > 1 ? layout.box(0, layout.per_line()).y - layout.map_size().y
                            : model.layers > 1           ? layout.box(1, 0).y - layout.map_size().y
                                                         : 0.0F;
      CHECK(between <= layout.caption() + 10.0F);
    }
  }
}

TEST_CASE("72 heads use the panel's height and have captions; a larger panel has larger ones") {
  const ThumbnailLayout::Request request{
      .groups = 6, .per_group = 12, .width = 268.0F, .height = 850.0F, .gutter = 26.0F, .aspect = 1.0F, .caption = 17.0F};
  const ThumbnailLayout usual(request);
  CHECK(usual.has_captions());
  CHECK(usual.map_size().x >= 35.0F);
  CHECK(usual.height() <= 850.0F);
  ThumbnailLayout::Request large = request;
  large.width = 690.0F;
  large.height = 1300.0F;
  const ThumbnailLayout grown(large);
  CHECK(grown.map_size().x >= 70.0F);
  CHECK(grown.height() >= 0.75F * 1300.0F);
  ThumbnailLayout::Request few = large;
  few.groups = 2;
  few.per_group = 4;
  CHECK(ThumbnailLayout(few).map_size().x > 128.0F);
}

TEST_CASE("pooled rows are normalised by their largest weight, and empty rows don't count") {
  attention::Tile tile;
  tile.request.stage = Stage::Weights;
  tile.request.rows = 5;
  tile.request.columns = 4;
  tile.request.pool = 2;
  tile.row_sum = {2.0F, 4.0F, 0.0F, 8.0F, 0.0F};
  CHECK(row_normalizers(tile) == std::vector{2.0F, 8.0F, 0.0F});
  CHECK(largest_weight(tile) == 0.5F);
  CHECK(concentration(tile, 5, ~0U) == doctest::Approx((0.5 + 0.25 + 0.125) / 3.0));
  CHECK(concentration(tile, 1, ~0U) == 0.5F);
  attention::Tile odd = tile;
  odd.row_sum[1] = std::numeric_limits<float>::quiet_NaN();
  CHECK(std::isnan(concentration(odd, 5, ~0U)));
  CHECK(concentration(odd, 1, ~0U) == 0.5F);
  tile.row_sum = {0.0F};
  CHECK(largest_weight(tile) == 0.0F);
}

TEST_CASE("what views ask of a tile is found when it is evaluated") {
  attention::Tile tile;
  tile.request.stage = Stage::Weights;
  tile.values = {0.5F, std::numeric_limits<float>::quiet_NaN(), 0.25F};
  tile.masked = {0, 1, 0};
  tile.row_sum = {2.0F};
  const TileFacts known = *make_engine_tile(tile, 1).facts;
  CHECK(known.largest_weight == 0.5F);
  CHECK(known.has_masked);
  CHECK_FALSE(known.has_odd);  // the NaN is masked
  tile.masked = {0, 0, 0};
  CHECK_FALSE(make_engine_tile(tile, 1).facts->has_masked);
  CHECK(make_engine_tile(tile, 1).facts->has_odd);
}

TEST_CASE("the sharpest tile of the newest run that covers a region stands in for it") {
  EngineResult result;
  const auto add = [&](std::uint32_t column, std::uint32_t columns, std::uint32_t pool, std::uint64_t run) {
    TileQuery query{.row = 0, .rows = 8, .column = column, .columns = columns, .pool = pool};
    auto tile = std::make_shared<attention::Tile>();
    tile->request = stage_request(query);
    result.tiles[query] = {.tile = tile, .run = run};
  };
  add(0, 8, 4, 1);
  add(0, 4, 1, 1);
  const TileQuery left{.row = 2, .rows = 2, .column = 1, .columns = 2, .pool = 1};
  const TileQuery right{.row = 2, .rows = 2, .column = 3, .columns = 3, .pool = 1};
  CHECK(find_covering_tile(result, left).tile->request.pool == 1);
  CHECK(find_covering_tile(result, right).tile->request.pool == 4);
  TileQuery other_head = left;
  other_head.head = 1;
  CHECK(find_covering_tile(result, other_head).tile == nullptr);
}

TEST_CASE("a tile whose columns alone are pooled stands in for exact cells only as a picture") {
  EngineResult result;
  const auto add = [&](const TileQuery& query) {
    auto tile = std::make_shared<attention::Tile>();
    tile->request = stage_request(query);
    result.tiles[query] = {.tile = tile, .run = 1};
  };
  const TileQuery pooled{
      .quantity = attention::Stage::V, .rows = 4, .columns = 64, .pool = 1, .pooling = {}, .pooled_columns = 4};
  CHECK_FALSE(pooled.is_exact());
  CHECK_FALSE(stage_request(pooled).is_exact());
  add(pooled);
  const TileQuery row{.quantity = attention::Stage::V, .row = 1, .rows = 1, .columns = 64, .pool = 1};
  CHECK(row.is_exact());
  CHECK(find_covering_tile(result, row).query == pooled);
  TileQuery whole = pooled;
  whole.pooled_columns = 0;
  add(whole);
  CHECK(find_covering_tile(result, row).query == whole);
  CHECK(find_covering_tile(result, pooled).query == whole);
}

TEST_CASE("a sampled tile says how many rows it looked at, and stands in for no other tile") {
  TileQuery sampled{.rows = 8'190, .columns = 8'190, .pool = 64, .sampled_rows = 1};
  CHECK(sample_in_words(sampled) == "128 of 8190 query rows");
  sampled.sampled_rows = 4;
  CHECK(sample_in_words(sampled) == "512 of 8190 query rows");  // 62 rows are in the last squares
  EngineResult result;
  auto tile = std::make_shared<attention::Tile>();
  tile->request = stage_request(sampled);
  result.tiles[sampled] = {.tile = tile, .run = 1};
  TileQuery exact = sampled;
  exact.sampled_rows = 0;
  CHECK(sample_in_words(exact).empty());
  CHECK(find_covering_tile(result, sampled).tile == tile.get());
  CHECK(find_covering_tile(result, exact).tile == nullptr);
  exact.rows = exact.columns = 64;
  exact.pool = 1;
  CHECK(find_covering_tile(result, exact).tile == nullptr);
}

TEST_SUITE_END();

}  // namespace thumbnail_test
