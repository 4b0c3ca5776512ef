// Searching tokens and the next strongest cell, against looking at every cell.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "app/shapes/quantities/strongest.h"
#include "app/widgets/token_menu.h"
#include "support/random.h"

namespace navigation_test {

using namespace headlight;
using namespace headlight::app;
using attention::Stage;

namespace {

/// A causal map of weights with few different values, so that many cells are alike, that counts the cells it evaluates.
struct Map {
  Map(std::uint32_t cells, std::uint32_t seed, std::uint32_t different) : edge(cells) {
    test::Random random(seed);
    for (std::uint32_t row = 0; row < edge; ++row) {
      for (std::uint32_t column = 0; column < edge; ++column) {
        const float value = static_cast<float>(random.below(different)) / static_cast<float>(different);
        values.push_back(column > row ? 0.0F : value);
      }
    }
  }

  attention::Tile evaluate(const TileQuery& query) const {
    const attention::TileRequest request = stage_request(query);
    attention::Tile tile{.request = request, .values = {}, .masked = {}, .row_max = {}, .row_sum = {}};
    for (std::uint32_t row = 0; row < request.rows; row += request.pool) {
      for (std::uint32_t column = 0; column < request.columns; column += request.pool) {
        float largest = 0.0F;
        bool is_masked = true;
        for (std::uint32_t r = row; r < std::min(row + request.pool, request.rows); ++r) {
          for (std::uint32_t c = column; c < std::min(column + request.pool, request.columns); ++c) {
            largest = std::max(largest, values[std::size_t{request.row + r} * edge + request.column + c]);
            is_masked = is_masked && request.column + c > request.row + r;
          }
        }
        tile.values.push_back(largest);
        tile.masked.push_back(is_masked ? 1 : 0);
      }
    }
    return tile;
  }

  /// Asks until the answer is known, as the window does frame by frame.
  std::optional<RankedCell> seek(StrongestOf of, std::optional<attention::Cell> from) {
    const StrongestQuestion question{
        .map = {.quantity = Stage::Weights}, .rows = edge, .columns = edge, .of = of, .from = from};
    for (int frame = 0; frame < 10'000; ++frame) {
      const StrongestAnswer answer = seek_strongest(question, [&](const TileQuery& query) {
        const auto found = tiles.find(query);
        return found == tiles.end() ? nullptr : &found->second;
      });
      if (answer.needs.empty()) return answer.found;
      for (const TileQuery& query : answer.needs) tiles.emplace(query, evaluate(query));
    }
    FAIL("it never ends");
    return std::nullopt;
  }

  /// All visible cells from the strongest on.
  std::vector<RankedCell> ranked() const {
    std::vector<RankedCell> cells;
    for (std::uint32_t row = 0; row < edge; ++row) {
      for (std::uint32_t column = 0; column <= row; ++column) {
        cells.push_back({.value = values[std::size_t{row} * edge + column], .cell = {.query = row, .key = column}});
      }
    }
    std::ranges::sort(cells, comes_before);
    return cells;
  }

  std::uint32_t edge;
  std::vector<float> values;
  std::map<TileQuery, attention::Tile> tiles;
};

}  // namespace

TEST_SUITE_BEGIN("cpu");

TEST_CASE("the strongest cells of a whole map follow each other as in a sorted list, ties by row and column") {
  for (const auto& one : {std::pair{40U, 5U}, {520U, 1'000U}, {1'030U, 50U}}) {
    const auto& edge = one.first;
    const auto& different = one.second;
    CAPTURE(edge);
    Map map(edge, edge, different);
    const std::vector<RankedCell> expected = map.ranked();
    std::optional<attention::Cell> from;
    for (std::size_t place = 0; place < 60; ++place) {
      CAPTURE(place);
      const std::optional<RankedCell> found = map.seek(StrongestOf::Map, from);
      REQUIRE(found);
      CHECK(*found == expected[place]);
      from = found->cell;
    }
    const std::optional<RankedCell> again = map.seek(StrongestOf::Map, expected.back().cell);
    REQUIRE(again);
    CHECK(*again == expected.front());  // behind the weakest
  }
}

TEST_CASE("few of a map's squares are looked into") {
  Map map(1'500, 3, 1'000'000);
  REQUIRE(map.seek(StrongestOf::Map, std::nullopt));
  std::size_t exact = 0;
  for (const auto& [query, tile] : map.tiles) exact += query.pool == 1 ? tile.values.size() : 0;
  CHECK(exact <= 64);  // some squares of 4 × 4
}

TEST_CASE("the next strongest of a row and of a column") {
  Map map(60, 4, 9);
  for (const StrongestOf of : {StrongestOf::Row, StrongestOf::Column}) {
    const attention::Cell start{.query = 40, .key = 20};
    std::vector<RankedCell> line = map.ranked();
    std::erase_if(line, [&](const RankedCell& cell) {
      return of == StrongestOf::Row ? cell.cell.query != start.query : cell.cell.key != start.key;
    });
    attention::Cell from = line.back().cell;
    for (std::size_t i = 0; i < line.size() + 2; ++i) {
      const std::optional<RankedCell> found = map.seek(of, from);
      REQUIRE(found);
      CHECK(*found == line[i % line.size()]);
      from = found->cell;
    }
  }
}

TEST_CASE("NaN and masked cells are no strongest ones") {
  Map map(50, 5, 7);
  map.values[std::size_t{30} * 50 + 10] = std::numeric_limits<float>::quiet_NaN();
  map.values[5] = 9.0F;  // above the diagonal
  const std::optional<RankedCell> found = map.seek(StrongestOf::Row, attention::Cell{.query = 30, .key = 10});
  REQUIRE(found);
  CHECK(found->cell != attention::Cell{.query = 30, .key = 10});
  CHECK(map.seek(StrongestOf::Map, std::nullopt)->value < 1.0F);
}

TEST_CASE("tokens are found by a part of the text, in any case and across tokens, a space by its mark") {
  const std::vector<std::string> labels = {"The", "·cat", "·sat", "·The", "cat", "é"};
  CHECK(tokens_with(labels, "the") == std::vector<std::uint32_t>{0, 3});
  CHECK(tokens_with(labels, " the") == std::vector<std::uint32_t>{3});
  CHECK(tokens_with(labels, "AT") == std::vector<std::uint32_t>{1, 2, 4});
  CHECK(tokens_with(labels, "é") == std::vector<std::uint32_t>{5});
  CHECK(tokens_with(labels, "cat sat the") == std::vector<std::uint32_t>{1});
  CHECK(tokens_with(labels, "Theca") == std::vector<std::uint32_t>{3});
  CHECK(tokens_with(labels, "").empty());
  CHECK(tokens_with(labels, "dog").empty());
}

TEST_CASE("steps among the tokens found go on from the pinned one and round at the ends") {
  const std::vector<std::uint32_t> found = {3, 7, 9};
  CHECK(step_among(found, std::nullopt, 1) == 0U);
  CHECK(step_among(found, std::nullopt, -1) == 2U);
  CHECK(step_among(found, 3, 1) == 1U);
  CHECK(step_among(found, 4, 1) == 1U);
  CHECK(step_among(found, 4, -1) == 0U);
  CHECK(step_among(found, 9, 1) == 0U);
  CHECK(step_among(found, 3, -1) == 2U);
  CHECK(step_among(found, 3, 2) == 2U);
  CHECK(step_among({}, 3, 1) == std::nullopt);
}

TEST_SUITE_END();

}  // namespace navigation_test
