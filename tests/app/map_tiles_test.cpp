// The tiles of a map's pyramid: their places, what covers a rectangle, reduction from level to level, and evaluation in
// pieces.
#include "app/shapes/quantities/map_tiles.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "app/shapes/quantities/evaluation.h"
#include "support/deviation.h"
#include "support/random.h"

namespace map_tiles_test {

using namespace headlight;
using namespace headlight::app;
using attention::Pooling;
using attention::Stage;

namespace {

constexpr std::uint32_t kRows = 1300, kColumns = 900;

TileQuery map_of(Stage stage, Pooling pooling) { return {.quantity = stage, .head = 1, .pooling = pooling}; }

/// A matrix with a masked upper half, as a tile of cells would have it.
struct Matrix {
  std::uint32_t width;
  std::vector<float> values;
  explicit Matrix(std::uint32_t seed, std::uint32_t columns = kColumns) : width(columns) {
    test::Random random(seed);
    for (std::uint32_t row = 0; row < kRows; ++row) {
      for (std::uint32_t column = 0; column < width; ++column) {
        const float value = random.number();
        values.push_back(column > row ? 0.0F : value * value);
      }
    }
  }
  /// Returns the tile that a device would return.
  attention::Tile tile(const attention::TileRequest& request) const {
    attention::Tile tile{.request = request, .values = {}, .masked = {}, .row_max = {}, .row_sum = {}};
    for (std::uint32_t y = 0; y < request.tile_rows(); ++y) {
      for (std::uint32_t x = 0; x < request.tile_columns(); ++x) {
        double sum = 0.0, cells = 0.0;
        float largest = -std::numeric_limits<float>::infinity();
        bool is_masked = true;
        const std::uint32_t row_end = std::min((y + 1) * request.pool, request.rows);
        const std::uint32_t column_end = std::min((x + 1) * request.column_pool(), request.columns);
        for (std::uint32_t r = request.row + y * request.pool; r < request.row + row_end; ++r) {
          for (std::uint32_t c = request.column + x * request.column_pool(); c < request.column + column_end; ++c) {
            const float value = values[std::size_t{r} * width + c];
            sum += double{value};
            cells += 1.0;
            largest = std::max(largest, value);
            is_masked = is_masked && c > r;
          }
        }
        const bool is_mean = request.stage != Stage::Weights || request.pooling == Pooling::Mean;
        tile.values.push_back(is_mean ? static_cast<float>(sum / cells) : largest);
        tile.masked.push_back(is_masked ? 1 : 0);
      }
    }
    for (std::uint32_t r = request.row; r < request.row + request.rows; ++r) {
      tile.row_max.push_back(static_cast<float>(r));
      tile.row_sum.push_back(static_cast<float>(r) + 0.5F);
    }
    return tile;
  }
};

BlockShapes shapes() {
  inference::BlockShape shape{.batch = 1, .heads = 2, .queries = kRows, .keys = kColumns};
  return {{model::BlockRef{}, shape}};
}

}  // namespace

TEST_SUITE_BEGIN("cpu");

TEST_CASE("tiles are aligned, end with the map, and cover any rectangle once") {
  const TileQuery map = map_of(Stage::Weights, Pooling::Mean);
  const TileQuery first = tile_query(map, kRows, kColumns, {.level = 0, .y = 1, .x = 3});
  CHECK(first.row == 256);
  CHECK(first.rows == 256);
  CHECK(first.column == 768);
  CHECK(first.columns == kColumns - 768);
  CHECK(first.pool == 1);
  CHECK(first.pooling == Pooling::Max);  // exact cells are the same tile for both
  const TileQuery coarse = tile_query(map, kRows, kColumns, {.level = 2, .y = 1, .x = 0});
  CHECK(coarse.row == 1024);
  CHECK(coarse.rows == kRows - 1024);
  CHECK(coarse.columns == kColumns);
  CHECK(coarse.pool == 4);
  CHECK(coarse.pooling == Pooling::Mean);

  test::Random random(5);
  for (int i = 0; i < 50; ++i) {
    TileQuery rectangle = map;
    rectangle.pool = 1U << random.below(4);
    rectangle.row = random.below(kRows);
    rectangle.rows = random.between(1, kRows - rectangle.row);
    rectangle.column = random.below(kColumns);
    rectangle.columns = random.between(1, kColumns - rectangle.column);
    std::size_t covered = 0;
    for (const MapTile& tile : tiles_over(rectangle)) {
      const TileQuery query = tile_query(rectangle, kRows, kColumns, tile);
      CHECK(is_inside(query, shapes()));
      const std::uint32_t top = std::max(query.row, rectangle.row), left = std::max(query.column, rectangle.column);
      const std::uint32_t bottom = std::min(query.row + query.rows, rectangle.row + rectangle.rows);
      const std::uint32_t right = std::min(query.column + query.columns, rectangle.column + rectangle.columns);
      REQUIRE(top < bottom);
      REQUIRE(left < right);
      covered += std::size_t{bottom - top} * (right - left);
    }
    CHECK(covered == std::size_t{rectangle.rows} * rectangle.columns);
  }
}

TEST_CASE("a tile reduced from those below is what a device would pool, by the largest and by the mean") {
  const Matrix matrix(6);
  for (const auto& shown :
       {std::pair{Stage::Weights, Pooling::Max}, {Stage::Weights, Pooling::Mean}, {Stage::Scores, Pooling::Max}}) {
    const auto& stage = shown.first;
    const auto& pooling = shown.second;
    CAPTURE(attention::to_string(stage));
    for (const MapTile& tile : {MapTile{1, 0, 0}, {1, 2, 1}, {2, 0, 0}, {2, 1, 0}, {3, 0, 0}}) {
      const TileQuery query = tile_query(map_of(stage, pooling), kRows, kColumns, tile);
      const std::vector<TileQuery> below = tiles_below(query, kRows, kColumns);
      REQUIRE_FALSE(below.empty());
      std::vector<attention::Tile> parts;
      for (const TileQuery& part : below) parts.push_back(matrix.tile(stage_request(part)));
      std::vector<const attention::Tile*> known;
      for (const attention::Tile& part : parts) known.push_back(&part);
      const attention::Tile reduced = reduce(query, known), expected = matrix.tile(stage_request(query));
      CHECK(reduced.request == expected.request);
      REQUIRE(reduced.values.size() == expected.values.size());
      double difference = 0.0;
      for (std::size_t i = 0; i < expected.values.size(); ++i) {
        test::widen(difference, reduced.values[i], expected.values[i]);
      }
      CAPTURE(tile.level);
      if (pooling == Pooling::Max && stage == Stage::Weights) CHECK(difference == 0.0);
      CHECK(difference < 3e-7);  // rounded once a level
      CHECK(reduced.masked == expected.masked);
      CHECK(reduced.row_max == expected.row_max);
      CHECK(reduced.row_sum == expected.row_sum);
    }
  }
}

TEST_CASE("a NaN stays when tiles are reduced") {
  const TileQuery query = tile_query(map_of(Stage::Weights, Pooling::Max), kRows, kColumns, {.level = 1, .y = 0, .x = 0});
  const Matrix matrix(7);
  for (const std::size_t place : {std::size_t{0}, std::size_t{1}}) {
    std::vector<attention::Tile> parts;
    for (const TileQuery& part : tiles_below(query, kRows, kColumns)) parts.push_back(matrix.tile(stage_request(part)));
    parts[0].values[place] = std::numeric_limits<float>::quiet_NaN();
    std::vector<const attention::Tile*> known;
    for (const attention::Tile& part : parts) known.push_back(&part);
    CHECK(std::isnan(reduce(query, known).values[0]));
  }
}

TEST_CASE("only tiles of the pyramid that pool like it are made from those below") {
  const TileQuery tile = tile_query(map_of(Stage::Weights, Pooling::Max), kRows, kColumns, {.level = 1, .y = 0, .x = 0});
  CHECK(tiles_below(tile, kRows, kColumns).size() == 4);
  const auto has_none = [&](auto change) {
    TileQuery query = tile;
    change(query);
    return tiles_below(query, kRows, kColumns).empty();
  };
  CHECK(has_none([](TileQuery& query) { query.pool = 1; }));
  CHECK(has_none([](TileQuery& query) { query.pool = 3; }));
  CHECK(has_none([](TileQuery& query) { query.row = 2; }));
  CHECK(has_none([](TileQuery& query) { query.rows -= 1; }));
  CHECK(has_none([](TileQuery& query) { query.quantity = Stage::Masked; }));
  CHECK(has_none([](TileQuery& query) { query.quantity = difference_of(Stage::Weights); }));
  const TileQuery last = tile_query(tile, kRows, kColumns, {.level = 2, .y = 1, .x = 0});
  CHECK(tiles_below(last, kRows, kColumns).size() == 2);  // rows 1,024 to 1,299 and two tiles of columns
}

TEST_CASE("a tile from finer tiles of any level and the rest is what a device would pool") {
  const Matrix matrix(21);
  test::Random random(22);
  double worst = 0.0;
  for (int i = 0; i < 40; ++i) {
    const Pooling pooling = random.chance(0.5) ? Pooling::Max : Pooling::Mean;
    const TileQuery map = map_of(Stage::Weights, pooling);
    const TileQuery query = tile_query(
        map, kRows, kColumns,
        random.pick({MapTile{1, 1, 0}, {2, 0, 0}, {2, 1, 0}, {3, 0, 0}, {0, 2, 0, 2}, {1, 0, 0, 1}, {3, 0, 1, -2}}));
    // Tiles of all finer levels, of which some are known.
    std::vector<TileQuery> known;
    std::vector<std::shared_ptr<const attention::Tile>> tiles;
    for (TileQuery finer = query; !finer.is_exact();) {
      finer.pool = std::max(finer.pool / 2, 1U);
      finer.pooled_columns = std::max(finer.column_pool() / 2, 1U);
      if (query.pooled_columns == 0) finer.pooled_columns = 0;
      for (const MapTile& tile : tiles_over(finer)) {
        if (random.chance(0.6)) known.push_back(tile_query(map, kRows, kColumns, tile));
      }
    }
    const TileParts parts = parts_of(query, kRows, kColumns, known);
    double covered = 0.0;
    for (const TileQuery& part : parts.known) covered += static_cast<double>(part.rows) * part.columns;
    for (const TileQuery& part : parts.missing) {
      covered += static_cast<double>(part.rows) * part.columns;
      CHECK(part.pool == query.pool);
      CHECK(part.column_pool() == query.column_pool());
    }
    REQUIRE(covered == static_cast<double>(query.rows) * query.columns);
    for (const TileQuery& part : parts.known) {
      tiles.push_back(std::make_shared<const attention::Tile>(matrix.tile(stage_request(part))));
    }
    Evaluation evaluation = tile_from_parts(query, {.shapes = shapes(), .most_cells = 1}, tiles, parts.missing);
    while (!evaluation.is_done()) {
      std::vector<attention::Tile> answers;
      for (const attention::TileRequest& request : evaluation.reads().tiles) answers.push_back(matrix.tile(request));
      evaluation.take({.tiles = std::move(answers)});
    }
    const attention::Tile found = evaluation.answer(), expected = matrix.tile(stage_request(query));
    CHECK(found.request == expected.request);
    CHECK(found.masked == expected.masked);
    CHECK(found.row_max == expected.row_max);
    CHECK(found.row_sum == expected.row_sum);
    REQUIRE(found.values.size() == expected.values.size());
    if (pooling == Pooling::Max) CHECK(found.values == expected.values);
    for (std::size_t at = 0; at < found.values.size(); ++at) test::widen(worst, found.values[at], expected.values[at]);
  }
  CHECK(worst < 1e-6);  // 6e-8: a mean of means is rounded once more
  TileQuery other = tile_query(map_of(Stage::Weights, Pooling::Max), kRows, kColumns, {.level = 0, .y = 0, .x = 0});
  const TileQuery above = tile_query(other, kRows, kColumns, {.level = 1, .y = 0, .x = 0});
  CHECK(parts_of(above, kRows, kColumns, {other}).known.size() == 1);
  other.rows = other.columns = 400;  // as large as a tile, but none
  CHECK(parts_of(above, kRows, kColumns, {other}).missing == std::vector{above});
  CHECK(parts_of(map_of(Stage::Masked, Pooling::Max), kRows, kColumns, {}).known.empty());
}

TEST_CASE("where columns alone are pooled, a tile's halves are side by side") {
  const TileQuery map = map_of(Stage::Weights, Pooling::Max);
  const MapTile tile{.level = 0, .y = 2, .x = 0, .more_columns = 1};
  const TileQuery query = tile_query(map, kRows, kColumns, tile);
  CHECK(query.pool == 1);
  CHECK(query.column_pool() == 2);
  CHECK(query.row == 512);
  CHECK(query.rows == 256);
  CHECK(query.columns == 512);
  CHECK(tiles_over(query) == std::vector{tile});
  const std::vector<TileQuery> below = tiles_below(query, kRows, kColumns);
  REQUIRE(below.size() == 2);
  for (std::uint32_t half = 0; half < 2; ++half) {
    CHECK(below[half].is_exact());
    CHECK(below[half].row == 512);
    CHECK(below[half].column == 256 * half);
    CHECK(below[half] == tile_query(map, kRows, kColumns, {.level = 0, .y = 2, .x = half}));
  }
}

TEST_CASE("a sample of each square's rows is no part of a pyramid, and costs what its rows do") {
  TileQuery query = tile_query(map_of(Stage::Weights, Pooling::Max), kRows, kColumns, {.level = 5, .y = 0, .x = 0});
  CHECK_FALSE(tiles_below(query, kRows, kColumns).empty());
  query.sampled_rows = 2;
  CHECK(tiles_below(query, kRows, kColumns).empty());
  CHECK(is_inside(query, shapes()));
  CHECK(stage_request(query).cells() == std::size_t{(kRows + 31) / 32 * 2} * kColumns);
  query.pool = 16;  // of smaller squares there are no samples
  CHECK_FALSE(is_inside(query, shapes()));
  query.pool = 32;
  query.quantity = Stage::Scores;
  CHECK_FALSE(is_inside(query, shapes()));
}

TEST_CASE("a tile of many cells is evaluated in pieces, and is the same") {
  constexpr std::uint32_t kWide = 2'600;  // a row of the largest squares is more than is evaluated at once
  const Matrix matrix(8, kWide);
  test::Random random(9);
  for (int i = 0; i < 20; ++i) {
    TileQuery query = map_of(Stage::Weights, random.chance(0.5) ? Pooling::Max : Pooling::Mean);
    query.pool = random.pick({1U, 4U, 16U, 512U});
    query.row = random.below(40);
    query.rows = kRows - query.row - random.below(3);
    query.column = random.below(7);
    query.columns = kWide - query.column;
    Evaluation whole = stage_tile(query, {.shapes = shapes(), .most_cells = std::size_t{1} << 30});
    Evaluation pieces = stage_tile(query, {.shapes = shapes()});
    const auto answer = [&](Evaluation& evaluation) {
      int steps = 0;
      for (; !evaluation.is_done(); ++steps) {
        REQUIRE(evaluation.reads().tiles.size() == 1);
        evaluation.take({.tiles = {matrix.tile(evaluation.reads().tiles.front())}});
      }
      return steps;
    };
    CHECK(answer(whole) == 1);
    CHECK(answer(pieces) > 1);
    const attention::Tile expected = whole.answer(), found = pieces.answer();
    CAPTURE(query.pool);
    CHECK(found.request == expected.request);
    CHECK(found.values == expected.values);
    CHECK(found.masked == expected.masked);
    CHECK(found.row_max == expected.row_max);
    CHECK(found.row_sum == expected.row_sum);
  }
}

TEST_SUITE_END();

}  // namespace map_tiles_test
