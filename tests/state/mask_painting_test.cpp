// The brush on the state: its shapes, the maps that it reaches, and taking paint away.
#include "app/state/mask_painting.h"
#include "app/state/map_settings.h"

#include <doctest/doctest.h>

#include <set>
#include <vector>

#include <nlohmann/json.hpp>

#include "app/state/mask_json.h"
#include "core/error.h"

namespace mask_painting_test {

using namespace headlight;
using namespace headlight::app;
using attention::Cell;

namespace {

constexpr PaintedMap kMap{.keys = 5, .rows = 4, .columns = 5, .layers = 3};

std::set<Cell> cells(BrushShape shape, Cell from, Cell at) {
  const std::vector<Cell> list = brush_cells(shape, from, at, kMap);
  return {list.begin(), list.end()};
}

bool is_visible(const State& state, std::uint32_t layer, std::uint32_t head, Cell cell) {
  return selected_mask(state).is_visible(layer, 0, head, cell.query, cell.key, kMap.keys);
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("shapes of the brush are the cells that they say") {
    const Cell at{.query = 2, .key = 1}, from{.query = 3, .key = 4};
    for (const BrushShape shape :
         {BrushShape::Cell, BrushShape::Row, BrushShape::Column, BrushShape::Diagonal, BrushShape::Rectangle}) {
      CAPTURE(static_cast<int>(shape));
      std::set<Cell> expected;
      for (std::uint32_t query = 0; query < kMap.rows; ++query) {
        for (std::uint32_t key = 0; key < kMap.columns; ++key) {
          const bool is_it = shape == BrushShape::Cell       ? query == at.query && key == at.key
                             : shape == BrushShape::Row      ? query == at.query
                             : shape == BrushShape::Column   ? key == at.key
                             : shape == BrushShape::Diagonal ? query + at.key == key + at.query
                                                             : query >= 2 && query <= 3 && key >= 1 && key <= 4;
          if (is_it) expected.insert({.query = query, .key = key});
        }
      }
      CHECK(cells(shape, from, at) == expected);
    }
    CHECK(cells(BrushShape::Diagonal, {}, {.query = 0, .key = 3}) == std::set<Cell>{{0, 3}, {1, 4}});
    const PaintedMap large{.keys = 32'768, .rows = 32'768, .columns = 32'768};
    CHECK(brush_cells(BrushShape::Rectangle, {0, 0}, {1023, 1023}, large).size() == kMaxPaintedAtOnce);
    CHECK_THROWS_AS(brush_cells(BrushShape::Rectangle, {0, 0}, {1023, 1024}, large), Error);
    CHECK_THROWS_AS(brush_cells(BrushShape::Rectangle, {0, 0}, {32'767, 32'767}, large), Error);
  }

  TEST_CASE("a bias reaches the maps of its scope, replaces narrower ones and is taken away again") {
    State state;
    state.selection.block.layer.value = 1;
    state.selection.head = 2;
    const auto bias = [&](std::uint32_t layer, std::uint32_t head, Cell cell) {
      return selected_mask(state).bias(layer, 0, head, cell);
    };
    const std::vector<Cell> row{{3, 0}, {3, 1}};
    paint_bias(state, row, 2.5f, kMap);
    CHECK(bias(1, 2, {3, 1}) == 2.5f);
    CHECK(bias(1, 0, {3, 1}) == 0.0f);
    state.set(kBrush.reach, PaintReach::LaterLayers);
    paint_bias(state, {{3, 1}}, -1.0f, kMap);
    CHECK(bias(1, 2, {3, 1}) == -1.0f);
    CHECK(bias(2, 0, {3, 1}) == -1.0f);
    CHECK(bias(0, 2, {3, 1}) == 0.0f);
    CHECK(bias(1, 2, {3, 0}) == 2.5f);
    state.set(kBrush.ink, BrushInk::Bias);
    state.set(kBrush.bias, -1.0f);
    CHECK(has_ink(state, {3, 1}));
    CHECK_FALSE(has_ink(state, {3, 0}));
    put_ink(state, row, false, kMap);
    CHECK(selected_mask(state).biases.empty());
    CHECK(selected_mask(state).painted.empty());
    put_ink(state, row, true, kMap);
    erase_paint(state, row, kMap);
    CHECK(selected_mask(state).biases.empty());
  }

  TEST_CASE("a painted pattern takes the selected head's place until no weight is left") {
    State state;
    state.selection.head = 3;
    const std::pair head(state.selection.block, 3u);
    state.patterns[head] = attention::FixedPattern::Uniform;
    state.set(kBrush.ink, BrushInk::Pattern);
    state.set(kBrush.weight, 0.5f);
    put_ink(state, {{2, 0}, {2, 1}}, true, kMap);
    CHECK(state.patterns.at(head).kind == attention::FixedPattern::Painted);
    CHECK(state.patterns.at(head).weights.state({2, 1}) == 0.5f);
    CHECK(has_ink(state, {2, 0}));
    put_ink(state, {{2, 0}}, false, kMap);
    CHECK_FALSE(has_ink(state, {2, 0}));
    CHECK(state.patterns.size() == 1);
    put_ink(state, {{2, 1}}, false, kMap);
    CHECK(state.patterns.empty());
    CHECK(selected_mask(state) == attention::MaskSpec{});
  }

  TEST_CASE("few words of a file can't take long to read") {
    nlohmann::json lists = nlohmann::json::array();
    for (int layer = 0; layer < 1'000; ++layer) {
      lists.push_back({{"layer", layer}, {"runs", {{0, 0, 1 << 22, 1.0}}}});
    }
    CHECK_THROWS_WITH_AS(mask_from_json({{"biases", lists}}, "mask"),
                         "mask.biases.runs: more than 4194304 painted cells, or 16777216 in all lists together", Error);
    nlohmann::json items = nlohmann::json::array();
    for (int item = 0; item < 50'000; ++item) items.push_back({{"batch", item}, {"begins", {7, 3, 7, 0}}});
    const attention::MaskSpec mask = mask_from_json({{"documents", items}}, "mask");
    CHECK(mask.documents->size() == 50'000);
    CHECK(mask.documents->at(49'999) == std::vector<std::uint32_t>{3, 7});
    CHECK_FALSE(mask_from_json({{"documents", {{{"batch", 1}, {"begins", {0}}}}}}, "mask").documents.has_value());
  }

  TEST_CASE("from this layer on: earlier layers stay as they are") {
    State state;
    state.selection.block.layer.value = 1;
    state.set(kBrush.reach, PaintReach::LaterLayers);
    const Cell cell{.query = 2, .key = 0};
    paint(state, cell, false, kMap);
    for (std::uint32_t layer = 0; layer < 3; ++layer) {
      for (std::uint32_t head = 0; head < 2; ++head) CHECK(is_visible(state, layer, head, cell) == (layer == 0));
    }
    paint(state, cell, true, kMap);
    CHECK(selected_mask(state).painted.empty());
    state.set(kBrush.reach, PaintReach::ThisHead);
    state.selection.block.layer.value = 2;
    paint(state, cell, false, kMap);
    state.selection.block.layer.value = 1;
    state.set(kBrush.reach, PaintReach::LaterLayers);
    paint(state, cell, true, kMap);  // a wider brush replaces narrower paint
    CHECK(selected_mask(state).painted.empty());
  }

  TEST_CASE("a column takes one step, shows what the causal mask hides, and is taken away again") {
    State state;
    selected_mask(state).rule.causal = true;
    const State before = state;
    const Cell at{.query = 0, .key = 2};
    const std::vector<Cell> column = brush_cells(BrushShape::Column, at, at, kMap);
    paint(state, column, false, kMap);
    CHECK(attention::painted_count(selected_mask(state).painted) == 2);  // the causal mask hides the others already
    for (std::uint32_t query = 0; query < kMap.rows; ++query) CHECK_FALSE(is_visible(state, 0, 0, {query, 2}));
    CHECK(is_visible(state, 0, 0, {3, 1}));
    paint(state, column, true, kMap);
    for (std::uint32_t query = 0; query < kMap.rows; ++query) CHECK(is_visible(state, 0, 0, {query, 2}));
    erase_paint(state, column, kMap);
    CHECK(state == before);
  }

  TEST_CASE("taking paint away reaches every scope that the map shows, and no other head") {
    State state;
    const Cell cell{.query = 1, .key = 1};
    state.set(kBrush.reach, PaintReach::AllLayers);
    paint(state, cell, false, kMap);
    state.set(kBrush.reach, PaintReach::ThisHead);
    state.selection.head = 1;
    paint(state, cell, true, kMap);
    erase_paint(state, {cell}, kMap);
    CHECK(selected_mask(state).painted.empty());
    paint(state, cell, false, kMap);
    state.selection.head = 0;
    erase_paint(state, {cell}, kMap);
    CHECK_FALSE(is_visible(state, 0, 1, cell));
  }
}

}  // namespace mask_painting_test
