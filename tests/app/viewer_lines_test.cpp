// The views of lines and of running text in the window.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "app/state/map_settings.h"
#include "app/ui_driver.h"
#include "engine/fake_runner.h"
#include "support/sanitizers.h"

namespace viewer_lines_test {

using namespace headlight;
using namespace headlight::app;
using shell::Key;

namespace {

bool asks_for_heads(UiDriver& ui, std::uint32_t count) {
  std::size_t whole = 0;
  for (const auto& [query, known] : ui.result().tiles) {
    whole += query.quantity == QuantityId(attention::Stage::Weights) && query.pool == 1 && query.row == 0 &&
                     query.block == ui.state().selection.block && ui.result().is_current(query)
                 ? 1U
                 : 0U;
  }
  return whole >= count;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("lines: with a locked token the count tells why there are few, and Esc shows the others") {
    State state = with_text(words(6), "lines");
    state.view.locked = LockedToken{.side = MapSide::Key, .token = 2};
    UiDriver ui(state);
    const float locked = ui.rect("lines.count").size.x;
    ui.press(Key::Escape);
    REQUIRE_FALSE(ui.state().view.locked);
    CHECK(locked > ui.rect("lines.count").size.x + 100.0F);  // "of the locked key alone; Esc shows the others"
  }

  TEST_CASE("lines: all heads of the layer, a legend that hides, shows and solos them") {
    UiDriver ui(with_text(words(6), "lines"));
    REQUIRE(ui.sees("lines.area"));
    const std::uint32_t heads = ui.result().shapes.at(ui.state().selection.block).heads;
    CHECK(ui.state().view.lines.shows_selected);  // until more are chosen
    ui.click("lines.all");
    CHECK(asks_for_heads(ui, heads));
    ui.wait(2.0);
    CHECK(ui.sees("lines.query.5"));
    CHECK(ui.sees("lines.key.5"));
    ui.click("lines.head.1");
    CHECK(ui.state().view.lines.hidden_heads == std::vector<std::uint32_t>{1});
    ui.wait(2.0);
    ui.click("lines.head.1");
    CHECK(ui.state().view.lines.hidden_heads.empty());
    ui.wait(2.0);
    ui.click("lines.head.2");
    ui.click("lines.head.2");
    CHECK(ui.state().view.lines.hidden_heads.size() == heads - 1);
    CHECK_FALSE(std::ranges::binary_search(ui.state().view.lines.hidden_heads, 2U));
    ui.click("lines.none");
    CHECK(ui.state().view.lines.hidden_heads.size() == heads);
    CHECK(ui.sees("lines.empty"));
    ui.click("lines.all");
    CHECK(ui.state().view.lines.hidden_heads.empty());
    CHECK_FALSE(ui.sees("lines.empty"));
    ui.click("lines.selected");
    CHECK(ui.state().view.lines.shows_selected);
  }

  TEST_CASE("lines: the legend and the area stay where they are, whatever the count says, at any width") {
    State state = with_text(words(40), "lines");
    state.view.lines = {.shows_selected = false, .hidden_heads = {}, .threshold = 0.02F};
    state.view.locked = LockedToken{.side = MapSide::Key, .token = 2};
    UiDriver ui(state);
    for (std::uint32_t width = 620; width < 1000; width += width >= 860 && width < 940 ? 2 : 20) {
      CAPTURE(width);
      ui.resize(width, 700);
      if (!ui.sees("lines.head.1")) continue;
      ui.move_to("lines.title");
      const float legend = ui.rect("lines.head.1").origin.y, area = ui.rect("lines.area").origin.y;
      const float wide = ui.rect("lines.count").size.x;
      ui.move_to("lines.head.1");  // its lines alone, which are fewer
      CHECK(ui.rect("lines.head.1").origin.y == legend);
      CHECK(ui.rect("lines.area").origin.y == area);
      CHECK(ui.rect("lines.count").size.x < wide);
    }
  }

  TEST_CASE("lines: a click locks a token, the keyboard moves it, Esc releases it") {
    UiDriver ui(with_text(words(12), "lines"));
    ui.click("lines.threshold");  // somewhere else
    const float threshold = ui.state().view.lines.threshold;
    CHECK(threshold >= kMinLineWeight);
    ui.click("lines.query.3");
    CHECK(ui.state().view.locked == LockedToken{MapSide::Query, 3});
    ui.press(Key::Down, shell::kShift);
    CHECK(ui.state().view.locked == LockedToken{MapSide::Query, 4});
    ui.press(Key::Up, shell::kShift);
    ui.press(Key::Up, shell::kShift);
    CHECK(ui.state().view.locked == LockedToken{MapSide::Query, 2});
    ui.click("lines.key.7");
    CHECK(ui.state().view.locked == LockedToken{MapSide::Key, 7});
    ui.click("lines.key.7");
    CHECK_FALSE(ui.state().view.locked);
    ui.click("lines.key.7");
    ui.press(Key::Escape);
    CHECK_FALSE(ui.state().view.locked);
  }

  TEST_CASE("lines: the weights of a locked query are printed at its keys") {
    State state = with_text(words(5), "lines");
    state.view.lines.threshold = 1e-4F;
    state.view.locked = LockedToken{MapSide::Query, 2};
    UiDriver ui(state);
    for (int key = 0; key < 5; ++key) CHECK(ui.sees(fmt::format("lines.weights.key.{}", key)));
    CHECK_FALSE(ui.sees("lines.weights.query.2"));
    ui.press(Key::Escape);
    CHECK_FALSE(ui.sees("lines.weights.key.0"));
  }

  TEST_CASE("lines: labels and weights don't overlap at three sizes with 1, 12 and 300 tokens, and stay in their area") {
    for (const std::uint32_t tokens : {1U, 12U, 300U}) {
      State state = with_text(words(tokens), "lines");
      state.view.lines.threshold = 1e-4F;
      state.view.locked = LockedToken{MapSide::Query, 0};
      UiDriver ui(state);
      for (const glm::uvec2 size : {glm::uvec2(1024, 640), glm::uvec2(1600, 1000), glm::uvec2(2560, 1440)}) {
        ui.resize(size.x, size.y);
        CAPTURE(tokens);
        CAPTURE(size.x);
        const chart::Rect area = ui.rect("lines.area");
        std::vector<chart::Rect> rects;
        for (const char* what : {"lines.query.{}", "lines.key.{}", "lines.weights.key.{}"}) {
          for (std::uint32_t token = 0; token < tokens; ++token) {
            const std::string name = fmt::format(fmt::runtime(what), token);
            if (ui.sees(name)) rects.push_back(ui.rect(name));
          }
        }
        CHECK(rects.size() >= 2);
        for (std::size_t i = 0; i < rects.size(); ++i) {
          CHECK(rects[i].origin.x >= area.origin.x);
          CHECK(rects[i].end().x <= area.end().x);
          for (std::size_t j = i + 1; j < rects.size(); ++j) CHECK(chart::intersection(rects[i], rects[j]).is_empty());
        }
      }
    }
  }

  TEST_CASE("lines: a frame of 200 x 200 tokens and 12 heads takes little of the processor's time") {
    State state = with_text(words(200), "lines");
    state.playground().settings.heads = 12;
    state.playground().settings.d_model = 48;
    state.view.lines = {.shows_selected = false, .hidden_heads = {}, .threshold = kMinLineWeight};
    UiDriver ui(state);
    REQUIRE(asks_for_heads(ui, 12));
    const chart::Rect area = ui.rect("lines.area");
    double least_ms = 1e9;
    for (int i = 0; i < 12; ++i) {
      ui.feed({shell::MouseMove{area.origin + area.size * glm::vec2(0.5F, 0.05F + 0.07F * static_cast<float>(i))}});
      least_ms = std::min(least_ms, ui.window().build_cpu_ms());
    }
    MESSAGE("a frame's processor time: ", least_ms, " ms");
#if defined(NDEBUG) && !HEADLIGHT_HAS_ADDRESS_SANITIZER
    CHECK(least_ms < 5.0);  // observed: 1.5, 2.4 on a busy machine
#endif
  }

  TEST_CASE("lines: only the visible rows of a long text are asked for") {
    UiDriver ui(with_text(words(700), "lines"), fake_factory(std::make_shared<FakeLog>()));
    bool has_part = false;
    for (const auto& [query, known] : ui.result().tiles) {
      const bool is_whole = query.rows == 700 && query.columns == 700 && query.pool == 1;
      CHECK_FALSE(is_whole);
      has_part = has_part || (query.row == 0 && query.rows <= 128 && query.columns == 700 && query.pool == 1);
    }
    CHECK(has_part);
  }

  TEST_CASE("text: a click locks a token, its row or its column shades the text, and a mean of heads can do so") {
    UiDriver ui(with_text(words(12), "text"));
    REQUIRE(ui.sees("text.token.11"));
    ui.click("text.token.3");
    CHECK(ui.state().view.locked == LockedToken{MapSide::Query, 3});
    const auto has = [&](QuantityId quantity, std::uint32_t row, std::uint32_t rows, std::uint32_t column) {
      return std::ranges::any_of(ui.result().tiles, [&](const auto& known) {
        const TileQuery& query = known.first;
        return query.quantity == quantity && query.row == row && query.rows == rows && query.column == column &&
               query.pool == 1;
      });
    };
    CHECK(has(attention::Stage::Weights, 3, 1, 0));
    ui.click("view.text_side.1");
    CHECK(ui.state()[kTextView.side] == MapSide::Key);
    CHECK(has(attention::Stage::Weights, 0, 12, 3));
    ui.click("text.mean.1");
    CHECK(ui.state().selection.mean == HeadMean::Layer);
    CHECK(has(kMeanOfLayer, 0, 12, 3));
    ui.press(Key::Right, shell::kShift);
    CHECK(ui.state().view.locked->token == 4);
    ui.press(Key::Escape);
    CHECK_FALSE(ui.state().view.locked);
  }

  TEST_CASE("text: below a short text is a row for each of its tokens, which a click locks; they fill a large window") {
    UiDriver ui(with_text(words(12), "text"));
    ui.resize(2560, 1440);
    for (std::uint32_t token = 0; token < 12; ++token) CHECK(ui.sees(fmt::format("text.row.{}", token)));
    const chart::Rect first = ui.rect("text.row.0"), last = ui.rect("text.row.11"), area = ui.rect("text.area");
    CHECK(last.end().y - ui.rect("text.token.0").origin.y >= 0.75F * area.size.y);
    CHECK(last.end().y <= area.end().y);
    CHECK(first.origin.y >= ui.rect("text.token.11").end().y);
    const bool has_map = std::ranges::any_of(ui.result().tiles, [](const auto& known) {
      const TileQuery& query = known.first;
      return query.quantity == QuantityId(attention::Stage::Weights) && query.rows == 12 && query.columns == 12;
    });
    CHECK(has_map);
    ui.click_within("text.row.3", 0.02F, 0.5F);
    CHECK(ui.state().view.locked == LockedToken{MapSide::Query, 3});
    ui.move_to("text.title");
    CHECK(ui.count_pixels("text.row.3", ui.ui().theme().query) > 2 * ui.count_pixels("text.row.4", ui.ui().theme().query));
    ui.click("view.text_side.1");  // then of the keys
    ui.click_within("text.row.5", 0.02F, 0.5F);
    CHECK(ui.state().view.locked == LockedToken{MapSide::Key, 5});
    ui.resize(1024, 640);
    ui.fill_in("text.edit", "one two three four five six");
    CHECK(ui.sees("text.row.5"));
    ui.fill_in("text.edit", words(80));
    CHECK_FALSE(ui.sees("text.row.0"));
  }

  TEST_CASE("text: cross-attention has two blocks, and a token of either shades the other") {
    State state = with_text(words(5), "text");
    state.playground().cross = true;
    state.playground().key_text = "a b c";
    UiDriver ui(state);
    CHECK(ui.sees("text.source.2"));
    CHECK(ui.sees("text.target.4"));
    CHECK_FALSE(ui.sees("view.text_side.0"));
    ui.click("text.source.1");
    CHECK(ui.state().view.locked == LockedToken{MapSide::Key, 1});
    // Some of the other side's tokens, the largest weight's in any case, have room for a number over them.
    const auto prints = [&](const std::string& side, std::uint32_t tokens) {
      bool is_seen = false;
      for (std::uint32_t i = 0; i < tokens; ++i) is_seen = is_seen || ui.sees(fmt::format("text.{}.{}.weight", side, i));
      return is_seen;
    };
    CHECK(prints("target", 5));
    CHECK_FALSE(prints("source", 3));
    ui.click("text.target.2");
    CHECK(ui.state().view.locked == LockedToken{MapSide::Query, 2});
    CHECK(prints("source", 3));
    CHECK_FALSE(prints("target", 5));
  }

  TEST_CASE("text: tokens and numbers don't overlap at three sizes with 1, 12 and 300 tokens") {
    for (const std::uint32_t tokens : {1U, 12U, 300U}) {
      UiDriver ui(with_text(words(tokens), "text"));
      for (const glm::uvec2 size : {glm::uvec2(1024, 640), glm::uvec2(1600, 1000), glm::uvec2(2560, 1440)}) {
        ui.resize(size.x, size.y);
        CAPTURE(tokens);
        CAPTURE(size.x);
        const chart::Rect area = ui.rect("text.area");
        std::vector<chart::Rect> rects;
        for (std::uint32_t token = 0; token < tokens; ++token) {
          for (const std::string& name : {fmt::format("text.token.{}", token), fmt::format("text.token.{}.weight", token)}) {
            if (ui.sees(name)) rects.push_back(ui.rect(name));
          }
        }
        CHECK(rects.size() >= 1);
        for (std::size_t i = 0; i < rects.size(); ++i) {
          CHECK(rects[i].origin.x >= area.origin.x);
          CHECK(rects[i].end().x <= area.end().x);
          for (std::size_t j = i + 1; j < rects.size(); ++j) CHECK(chart::intersection(rects[i], rects[j]).is_empty());
        }
      }
    }
  }

  TEST_CASE("text: two thousand tokens ask for one row of the map") {
    UiDriver ui(with_text(words(2000), "text"), fake_factory(std::make_shared<FakeLog>()));
    std::size_t exact = 0;
    for (const auto& [query, known] : ui.result().tiles) {
      if (query.pool > 1) continue;
      ++exact;
      CHECK(std::uint64_t{query.rows} * query.columns <= 2000);
    }
    CHECK(exact > 0);
  }
}

}  // namespace viewer_lines_test
