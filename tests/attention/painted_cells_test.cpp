// Painted cells as runs, against a plain map of cells.
#include "attention/painted_cells.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "support/random.h"

namespace painted_cells_test {

using namespace headlight;
using namespace headlight::attention;

namespace {

using PlainCells = std::map<Cell, bool>;

std::vector<PaintedCell> cells_of(const CellRuns& runs) {
  std::vector<PaintedCell> cells;
  runs.for_each_cell([&](Cell cell, bool is_visible) { cells.emplace_back(cell, is_visible); });
  return cells;
}

/// Every cell as in `plain`, runs in order, none empty, and none that could be one with the next.
void check_same(const CellRuns& runs, const PlainCells& plain) {
  CHECK(cells_of(runs) == std::vector<PaintedCell>(plain.begin(), plain.end()));
  CHECK(runs.cell_count() == plain.size());
  CHECK(runs.empty() == plain.empty());
  const std::span<const CellRun> all = runs.runs();
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(all[i].count > 0);
    if (i == 0) continue;
    const CellRun& before = all[i - 1];
    const bool is_sorted = before.query < all[i].query || before.end_key() <= all[i].first_key;
    const bool could_be_one =
        before.query == all[i].query && before.end_key() == all[i].first_key && before.paint == all[i].paint;
    CHECK(is_sorted);
    CHECK_FALSE(could_be_one);
  }
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a painted row is one run; erasing inside it makes two, painting otherwise three") {
    CellRuns runs;
    for (const std::uint32_t key : {3u, 5u, 4u, 2u}) runs.paint({7, key}, false);
    REQUIRE(runs.runs().size() == 1);
    CHECK(runs.runs()[0] == CellRun{.query = 7, .first_key = 2, .count = 4, .paint = false});
    runs.paint({7, 3}, true);
    CHECK(runs.runs().size() == 3);
    runs.erase({7, 3});
    CHECK(runs.runs().size() == 2);
    runs.paint({7, 3}, false);
    CHECK(runs.runs().size() == 1);
    for (std::uint32_t key = 2; key < 6; ++key) runs.erase({7, key});
    CHECK(runs == CellRuns());
    CHECK(runs.empty());
  }

  TEST_CASE("painting what is painted already, or erasing what isn't, keeps the shared runs") {
    CellRuns runs = {{{1, 2}, true}, {{1, 3}, true}};
    const CellRun* before = runs.runs().data();
    runs.paint({1, 3}, true);
    runs.erase({1, 4});
    CHECK(runs.runs().data() == before);
  }

  TEST_CASE("the last rows and keys") {
    constexpr std::uint32_t kLast = 0xffff'ffffu;
    CellRuns runs = {{{kLast, kLast}, true}, {{kLast, kLast - 1}, true}, {{0, kLast}, false}, {{1, 0}, false}};
    CHECK(runs.runs().size() == 3);
    CHECK(runs.state({kLast, kLast}) == true);
    CHECK(runs.state({0, kLast}) == false);
    CHECK_FALSE(runs.state({kLast, 0}).has_value());
    runs.erase({kLast, kLast});
    CHECK(runs.state({kLast, kLast - 1}) == true);
    CHECK(runs.cell_count() == 3);
  }

  TEST_CASE("random painting and erasing equals a map of cells") {
    for (std::uint32_t seed = 0; seed < 40; ++seed) {
      CAPTURE(seed);
      test::Random random(seed);
      CellRuns runs;
      PlainCells plain;
      for (int edit = 0; edit < 120; ++edit) {
        const Cell cell{random.below(4), random.below(9)};
        if (random.chance(0.3)) {
          runs.erase(cell);
          plain.erase(cell);
        } else {
          const bool is_visible = random.chance(0.5);
          runs.paint(cell, is_visible);
          plain[cell] = is_visible;
        }
        const Cell asked{random.below(4), random.below(9)};
        const auto expected = plain.find(asked);
        CHECK(runs.state(asked) == (expected == plain.end() ? std::nullopt : std::optional(expected->second)));
      }
      check_same(runs, plain);
      CHECK(runs == CellRuns(std::vector<PaintedCell>(plain.rbegin(), plain.rend())));
    }
  }

  TEST_CASE("of a list that names a cell twice the last one counts") {
    const CellRuns runs = {{{0, 1}, true}, {{0, 0}, false}, {{0, 1}, false}};
    check_same(runs, {{{0, 0}, false}, {{0, 1}, false}});
    CHECK(runs.runs().size() == 1);
  }

  TEST_CASE("a painted row of 32,768 cells costs 16 bytes") {
    std::vector<PaintedCell> cells;
    for (std::uint32_t key = 0; key < 32'768; ++key) cells.emplace_back(Cell{5, key}, false);
    const CellRuns runs(std::move(cells));
    CHECK(runs.bytes() == 16);
    CHECK(painted_count(PaintedCells{{PaintScope{}, runs}, {PaintScope{.head = 1}, {{{0, 0}, true}}}}) == 32'769);
  }
}

}  // namespace painted_cells_test
