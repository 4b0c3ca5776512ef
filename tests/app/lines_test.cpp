// The view of lines: which weights have a line, and where tokens and lines are.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "app/figures/line_set.h"
#include "app/views/lines/line_layout.h"
#include "app/views/lines/lines_drawing.h"

namespace lines_test {

using namespace headlight;
using namespace headlight::app;

namespace {

/// A tile of weights [rows, columns] of a head, from `row` and `column` on.
attention::Tile tile_of(std::uint32_t head, std::uint32_t rows, std::uint32_t columns, std::vector<float> values,
                        std::uint32_t row = 0, std::uint32_t column = 0) {
  attention::Tile tile;
  tile.request = {.head = head, .row = row, .rows = rows, .column = column, .columns = columns};
  tile.values = std::move(values);
  return tile;
}

LineSet select(const std::vector<attention::Tile>& tiles, const LineFilter& filter) {
  std::vector<const attention::Tile*> pointers;
  for (const attention::Tile& tile : tiles) pointers.push_back(&tile);
  return select_lines(pointers, filter);
}

LineLayout layout_of(std::uint32_t queries, std::uint32_t keys, glm::vec2 room, float scroll = 0.0F) {
  return LineLayout({.queries = queries,
                     .keys = keys,
                     .room = room,
                     .line_height = 13.0F,
                     .query_width = 70.0F,
                     .key_width = 300.0F,
                     .number_width = 60.0F,
                     .scroll = scroll});
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("differences are lines by their size, the strongest last, of either sign") {
    const std::vector<attention::Tile> tiles = {tile_of(0, 1, 4, {-0.5F, 0.25F, -0.125F, 0.0F})};
    const LineSet set = select(tiles, {.threshold = 0.2F});
    REQUIRE(set.lines.size() == 2);
    CHECK(set.lines[0] == WeightLine{.query = 0, .key = 1, .head = 0, .weight = 0.25F});
    CHECK(set.lines[1] == WeightLine{.query = 0, .key = 0, .head = 0, .weight = -0.5F});
    CHECK(select(tiles, {.threshold = 0.1F, .most = 1}).lines == std::vector{set.lines[1]});
    const auto ends = lines_by_end(select(tiles, {.threshold = 0.1F}).lines, {.side = MapSide::Query, .token = 0}, 4, 3);
    CHECK(ends[0].front().weight == -0.5F);
    CHECK(ends[2].front().weight == -0.125F);
    CHECK(ends[3].empty());
  }

  TEST_CASE("weights from the threshold on have a line, ascending; masked cells and NaN have none") {
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    attention::Tile first = tile_of(0, 2, 3, {0.5F, 0.2F, 0.3F, kNan, 0.1F, 0.9F});
    first.masked = {0, 0, 0, 0, 0, 1};
    const attention::Tile second = tile_of(3, 2, 3, {0.05F, 0.95F, 0.0F, 0.2F, 0.2F, 0.6F});
    const LineSet set = select({first, second}, {.threshold = 0.2F});
    const std::vector<WeightLine> expected = {{0, 1, 0, 0.2F}, {1, 0, 3, 0.2F}, {1, 1, 3, 0.2F}, {0, 2, 0, 0.3F},
                                              {0, 0, 0, 0.5F}, {1, 2, 3, 0.6F}, {0, 1, 3, 0.95F}};
    CHECK(set.lines == expected);
    CHECK(set.found == 7);
    // The order of tiles changes nothing.
    CHECK(select({second, first}, {.threshold = 0.2F}).lines == expected);
  }

  TEST_CASE("of too many lines the strongest are kept, and all are counted") {
    std::vector<float> values;
    for (int i = 0; i < 100; ++i) values.push_back(static_cast<float>((i * 37) % 100) * 0.01F);
    const LineSet set = select({tile_of(0, 10, 10, values)}, {.threshold = 0.095F, .most = 12});
    CHECK(set.found == 90);
    REQUIRE(set.lines.size() == 12);
    CHECK(set.lines.front().weight == doctest::Approx(0.88));
    CHECK(set.lines.back().weight == doctest::Approx(0.99));
  }

  TEST_CASE("a token has the lines of its row, or of its column, in tiles that begin anywhere") {
    const attention::Tile tile = tile_of(1, 2, 2, {0.1F, 0.2F, 0.3F, 0.4F}, 5, 7);
    const auto lines = [&](MapSide side, std::uint32_t token) {
      return select({tile}, {.threshold = 0.01F, .token = LockedToken{side, token}}).lines;
    };
    CHECK(lines(MapSide::Query, 6) == std::vector<WeightLine>{{6, 7, 1, 0.3F}, {6, 8, 1, 0.4F}});
    CHECK(lines(MapSide::Key, 8) == std::vector<WeightLine>{{5, 8, 1, 0.2F}, {6, 8, 1, 0.4F}});
    CHECK(lines(MapSide::Query, 4).empty());
    CHECK(lines(MapSide::Query, 7).empty());
    CHECK(lines(MapSide::Key, 9).empty());
  }

  TEST_CASE("of a pair of sentences each part has its own lines, and padding has none in any") {
    const std::vector<std::uint8_t> sentences = {0, 1, kNoSentence};
    const attention::Tile tile = tile_of(0, 3, 3, std::vector<float>(9, 0.5F));
    const auto lines = [&](PairPart part) {
      return select({tile}, {.threshold = 0.1F, .query_sentences = sentences, .key_sentences = sentences, .part = part})
          .lines;
    };
    CHECK(lines(PairPart::All).size() == 9);
    CHECK(lines(PairPart::FirstToFirst) == std::vector<WeightLine>{{0, 0, 0, 0.5F}});
    CHECK(lines(PairPart::FirstToSecond) == std::vector<WeightLine>{{0, 1, 0, 0.5F}});
    CHECK(lines(PairPart::SecondToFirst) == std::vector<WeightLine>{{1, 0, 0, 0.5F}});
    CHECK(lines(PairPart::SecondToSecond) == std::vector<WeightLine>{{1, 1, 0, 0.5F}});
    // Without a pair the part means nothing.
    CHECK(select({tile}, {.threshold = 0.1F, .part = PairPart::SecondToFirst}).lines.size() == 9);
  }

  TEST_CASE("the weights printed at a token's other ends are the strongest first") {
    const std::vector<WeightLine> lines = {
        {2, 0, 1, 0.1F}, {2, 1, 0, 0.2F}, {0, 1, 0, 0.3F}, {2, 1, 4, 0.7F}, {2, 1, 5, 0.6F}};
    const auto ends = lines_by_end(lines, {MapSide::Query, 2}, 3, 2);
    REQUIRE(ends.size() == 3);
    CHECK(ends[0] == std::vector<WeightLine>{{2, 0, 1, 0.1F}});
    CHECK(ends[1] == std::vector<WeightLine>{{2, 1, 4, 0.7F}, {2, 1, 5, 0.6F}});
    CHECK(ends[2].empty());
    CHECK(lines_by_end(lines, {MapSide::Key, 1}, 1, 9)[0] == std::vector<WeightLine>{{0, 1, 0, 0.3F}});
  }

  TEST_CASE("labels never overlap and stay in their columns, however many tokens and whatever the room") {
    for (const std::uint32_t tokens : {1U, 12U, 300U, 5000U}) {
      for (const glm::vec2 room : {glm::vec2(330.0F, 240.0F), glm::vec2(700.0F, 500.0F), glm::vec2(3000.0F, 1900.0F)}) {
        CAPTURE(tokens);
        CAPTURE(room.x);
        for (const float scroll : {0.0F, 57.0F, 1e6F}) {
          const LineLayout layout = layout_of(tokens, tokens / 2 + 1, room, scroll);
          CHECK(layout.query_x() < layout.key_x());
          for (const MapSide side : {MapSide::Query, MapSide::Key}) {
            const TokenSpan visible = layout.visible(side);
            for (std::uint32_t token = visible.begin; token < visible.end; ++token) {
              const chart::Rect label = layout.label(side, token);
              CHECK(label.origin.x >= 0.0F);
              CHECK(label.end().x <= room.x);
              CHECK(label.end().y > 0.0F);
              CHECK(label.origin.y < room.y);
              if (token > visible.begin) CHECK(label.origin.y >= layout.label(side, token - 1).end().y);
              const glm::vec2 middle = label.center();
              if (middle.y >= 0.0F && middle.y < room.y) CHECK(layout.token_at(middle) == LockedToken{side, token});
            }
          }
        }
      }
    }
  }

  TEST_CASE("numbers have room beyond labels") {
    const LineLayout layout = layout_of(12, 12, {700.0F, 500.0F});
    CHECK(layout.number_x(MapSide::Query) >= 60.0F);
    CHECK(layout.number_x(MapSide::Key) + 60.0F <= 700.0F);
    CHECK(layout.number_x(MapSide::Key) > layout.label(MapSide::Key, 0).end().x);
  }

  TEST_CASE("a line is drawn while any part of it is visible, and a token can be scrolled to") {
    const LineLayout layout = layout_of(300, 300, {700.0F, 340.0F}, 1700.0F);
    const TokenSpan visible = layout.visible(MapSide::Query);
    CHECK(visible.count() >= 19);
    CHECK(visible.count() <= 21);
    const std::uint32_t inside = visible.begin + 5;
    CHECK(layout.is_visible({.query = inside, .key = 0}));
    CHECK(layout.is_visible({.query = 0, .key = 299}));
    CHECK_FALSE(layout.is_visible({.query = 0, .key = 10}));
    CHECK_FALSE(layout.is_visible({.query = 290, .key = 299}));
    CHECK(layout.scroll_to(inside) == 1700.0F);
    CHECK(layout.scroll_to(0) == 0.0F);
    CHECK(layout.scroll_to(299) == layout.content_height() - 340.0F);
    const LineLayout scrolled = layout_of(300, 300, {700.0F, 340.0F}, layout.scroll_to(40));
    CHECK(scrolled.label(MapSide::Query, 40).origin.y >= 0.0F);
  }

  TEST_CASE("the line at a point is the heaviest near it, between the columns alone") {
    const LineLayout layout(
        {.queries = 4, .keys = 4, .room = {600.0F, 400.0F}, .line_height = 14.0F, .query_width = 60.0F, .key_width = 60.0F});
    const std::vector<WeightLine> lines = {{.query = 0, .key = 3, .head = 1, .weight = 0.1F},
                                           {.query = 3, .key = 0, .head = 0, .weight = 0.5F},
                                           {.query = 1, .key = 1, .head = 2, .weight = 0.9F}};
    const float middle = (layout.query_x() + layout.key_x()) * 0.5F;
    const float crossing = (layout.y_of(0) + layout.y_of(3)) * 0.5F;
    CHECK(layout.line_at(lines, {middle, crossing}) == std::optional<std::size_t>(1));  // where 0 and 1 meet
    CHECK(layout.line_at(lines, {layout.query_x() + 1.0F, layout.y_of(0)}) == std::optional<std::size_t>(0));
    CHECK(layout.line_at(lines, {layout.key_x() - 1.0F, layout.y_of(1) + 3.0F}) == std::optional<std::size_t>(2));
    CHECK_FALSE(layout.line_at(lines, {layout.key_x() - 1.0F, layout.y_of(2)}));
    CHECK_FALSE(layout.line_at(lines, {layout.query_x() - 1.0F, layout.y_of(1)}));
    CHECK_FALSE(layout.line_at({}, {middle, crossing}));
  }

  TEST_CASE("small maps are asked for whole, of larger ones whole blocks of what is visible") {
    CHECK(region_to_ask(200, 200, {10, 20}, {0, 9}) == LineRegion{{0, 200}, {0, 200}});
    CHECK(region_to_ask(1000, 1000, {70, 130}, {70, 130}) == LineRegion{{64, 192}, {0, 1000}});
    CHECK(region_to_ask(8192, 8192, {8100, 8190}, {8100, 8190}) == LineRegion{{8064, 8192}, {8064, 8192}});
  }

  TEST_CASE("heads are hidden and shown one by one, or one alone") {
    LineChoices choices;
    CHECK(shows_head(choices, 2, 2));  // the selected one alone
    CHECK_FALSE(shows_head(choices, 3, 2));
    toggle_head(choices, 3, 2, 4);
    CHECK_FALSE(choices.shows_selected);
    CHECK(choices.hidden_heads == std::vector<std::uint32_t>{0, 1});
    choices = {.shows_selected = false, .hidden_heads = {}};
    CHECK(shows_head(choices, 3, 2));
    toggle_head(choices, 3, 2, 4);
    toggle_head(choices, 1, 2, 4);
    CHECK(choices.hidden_heads == std::vector<std::uint32_t>{1, 3});
    CHECK_FALSE(shows_head(choices, 3, 2));
    toggle_head(choices, 3, 2, 4);
    CHECK(choices.hidden_heads == std::vector<std::uint32_t>{1});
    show_only(choices, 1, 4);
    CHECK(choices.hidden_heads == std::vector<std::uint32_t>{0, 2, 3});
    CHECK(shows_head(choices, 1, 2));
  }
}

}  // namespace lines_test
