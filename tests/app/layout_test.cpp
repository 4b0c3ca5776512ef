// Layout of the window: the places of its panes, the parts of them that give way, and the places of refusals.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "app/state/error_section.h"
#include "app/views/head/head_parts.h"
#include "app/window/layout.h"

namespace layout_test {

using namespace headlight;
using namespace headlight::app;

namespace {

float right(const chart::Rect& rect) { return rect.end().x; }
float bottom(const chart::Rect& rect) { return rect.end().y; }

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("panes tile the window at every size") {
    for (const float width : {1.0F, 64.0F, 320.0F, 400.0F, 640.0F, 800.0F, 1024.0F, 1600.0F, 2560.0F}) {
      for (const float height : {1.0F, 30.0F, 60.0F, 250.0F, 640.0F, 1440.0F}) {
        for (const Strips& strips : {Strips{.menu = 26.0F}, Strips{.menu = 26.0F, .chips = 34.0F, .has_left = true},
                                     Strips{.menu = 26.0F, .welcome = 130.0F, .texts = 150.0F, .chips = 34.0F}}) {
          CAPTURE(width);
          CAPTURE(height);
          const Layout layout = layout_window({width, height}, strips, Panes{});
          const chart::Rect& left = layout.has_left() ? layout.left : layout.left_rail;
          const chart::Rect& beside = layout.has_grid() ? layout.grid : layout.grid_rail;
          CHECK(left.origin.x == 0.0F);
          CHECK(layout.welcome.origin.y == 26.0F);
          CHECK(bottom(layout.welcome) == layout.texts.origin.y);
          CHECK(bottom(layout.texts) == layout.chips.origin.y);
          CHECK(bottom(layout.chips) == left.origin.y);
          CHECK(right(left) == layout.center.origin.x);
          CHECK(right(layout.center) == beside.origin.x);
          CHECK(right(beside) == doctest::Approx(width));
          CHECK(layout.center.origin.y == left.origin.y);
          CHECK(bottom(layout.center) == bottom(left));
          CHECK(bottom(left) == layout.status.origin.y);
          for (const chart::Rect& rect : {left, layout.center, beside, layout.status}) {
            CHECK(rect.size.x >= 0.0F);
            CHECK(rect.size.y >= 0.0F);
          }
        }
      }
    }
  }

  TEST_CASE("the map comes first: panels fold by themselves where it would be small, the grid before the left one") {
    const Layout wide = layout_window({1600.0F, 1000.0F}, {.menu = 26.0F, .has_left = true}, Panes{});
    CHECK(wide.left.size.x == 340.0F);
    CHECK(wide.grid.size.x == 300.0F);
    const Layout small = layout_window({1024.0F, 640.0F}, {.menu = 26.0F, .has_left = true}, Panes{});
    CHECK(small.has_left());
    CHECK_FALSE(small.has_grid());
    CHECK(small.grid_rail.size.x == kRailWidth);
    CHECK(small.center.size.x >= 650.0F);
    CHECK(layout_window({1280.0F, 800.0F}, {.menu = 26.0F, .has_left = true}, Panes{}).has_grid());
    CHECK(layout_window({640.0F, 400.0F}, {.menu = 26.0F, .has_left = true}, Panes{}).has_left());
    const Layout tiny = layout_window({400.0F, 250.0F}, {.menu = 26.0F, .has_left = true}, Panes{});
    CHECK_FALSE(tiny.has_left());
    CHECK(tiny.center.size.x >= 340.0F);
  }

  TEST_CASE("a wide window gives the grid what a square map leaves over") {
    const Layout large = layout_window({2560.0F, 1440.0F}, {.menu = 26.0F, .has_left = true}, Panes{});
    CHECK(large.grid.size.x == 563.0F);
    CHECK(large.center.size.x > 1400.0F);
    const Layout chosen =
        layout_window({2560.0F, 1440.0F}, {.menu = 26.0F, .has_left = true}, {.sidebar = 500.0F, .grid = 250.0F});
    CHECK(chosen.grid.size.x == 250.0F);
    CHECK(chosen.left.size.x == 500.0F);
  }

  TEST_CASE("panels fold and open by choice, and a choice that the window's size makes anyway is none") {
    Panes panes;
    const auto at = [&](float width) { return layout_window({width, 640.0F}, {.menu = 26.0F, .has_left = true}, panes); };
    toggle_grid(panes, at(1024.0F));
    CHECK(panes.grid_fold == Fold::Open);
    CHECK(at(1024.0F).has_grid());
    CHECK(at(1024.0F).center.size.x >= kCenterMin);
    CHECK(at(1024.0F).has_left());
    CHECK_FALSE(at(600.0F).has_grid());  // there the map would be smaller than kCenterMin
    toggle_grid(panes, at(1600.0F));
    CHECK(panes.grid_fold == Fold::Folded);
    CHECK_FALSE(at(2560.0F).has_grid());
    toggle_grid(panes, at(2560.0F));
    CHECK(panes.grid_fold == Fold::Automatic);
    toggle_left(panes, at(1600.0F));
    CHECK_FALSE(at(1600.0F).has_left());
    CHECK(at(1600.0F).left_rail.size.x == kRailWidth);
    CHECK(at(1024.0F).has_grid());  // there is room for it now
    toggle_left(panes, at(450.0F));
    CHECK(panes.sidebar_fold == Fold::Open);
    CHECK(at(450.0F).left.size.x == 225.0F);
  }

  TEST_CASE("strips leave the map its room: the welcome gives way before the texts do") {
    const Strips strips{.menu = 26.0F, .welcome = 130.0F, .texts = 150.0F};
    const Layout tall = layout_window({1600.0F, 1000.0F}, strips, Panes{});
    CHECK(tall.welcome.size.y == 130.0F);
    CHECK(tall.texts.size.y == 150.0F);
    const Layout low = layout_window({1600.0F, 600.0F}, strips, Panes{});
    CHECK(low.texts.size.y == 150.0F);
    CHECK(low.welcome.size.y == 600.0F - 26.0F - 150.0F - kBodyMin);
    CHECK(layout_window({1600.0F, 500.0F}, strips, Panes{}).welcome.size.y == 0.0F);
    CHECK(layout_window({1600.0F, 500.0F}, strips, Panes{}).texts.size.y == 150.0F);
    CHECK(layout_window({1600.0F, 200.0F}, strips, Panes{}).texts.size.y == 0.0F);
  }

  TEST_CASE("a window of many pixels has larger letters, unless the monitor's scale has made them so") {
    CHECK(window_scale({1600, 1000}, 1.0F) == 1.0F);
    CHECK(window_scale({2560, 1440}, 1.0F) == 1.25F);
    CHECK(window_scale({2560, 1440}, 2.0F) == 2.0F);
  }

  TEST_CASE("splitters stop where the map would vanish") {
    Panes panes;
    const Layout layout = layout_window({1600.0F, 1000.0F}, {.menu = 26.0F, .has_left = true}, panes);
    drag_left(panes, layout, 500.0F);
    CHECK(panes.sidebar == 500.0F);
    drag_left(panes, layout, 5'000.0F);
    CHECK(panes.sidebar == 1600.0F - 300.0F - kCenterComfortable);  // else the grid would fold
    drag_left(panes, layout, -20.0F);
    CHECK(panes.sidebar == kLeftMin);
    drag_grid(panes, layout, 1200.0F);
    CHECK(panes.grid == 400.0F);
    CHECK(panes.grid_fold == Fold::Automatic);
    drag_grid(panes, layout, 1599.0F);
    CHECK(panes.grid == kGridMin);
    drag_grid(panes, layout, 100.0F);
    CHECK(panes.grid == 1600.0F - 340.0F - kCenterMin);
    CHECK(panes.grid_fold == Fold::Open);
    drag_left(panes, layout, 5'000.0F);
    CHECK(panes.sidebar == 1600.0F - 300.0F - kCenterMin);
  }

  TEST_CASE("a refusal belongs beside what changed") {
    const RunInputs good = run_inputs(State{});
    RunInputs refused = good;
    std::get<Playground>(refused.source).text.clear();
    CHECK(error_section_for(good, refused) == ErrorSection::Text);
    std::get<Playground>(refused.source).settings.heads = 7;
    CHECK(error_section_for(good, refused) == ErrorSection::Model);
    refused = good;
    refused.masks.by_kind[0].rule.causal = true;
    CHECK(error_section_for(good, refused) == ErrorSection::Masks);
  }

  TEST_CASE("what is wrong with a prompt is the text's fault, with a path or a precision the model's") {
    State state;
    change_to_model(state, "/models/gpt2");
    const RunInputs good = run_inputs(state);
    RunInputs refused = good;
    std::get<Model>(refused.source).adds_special = false;
    CHECK(error_section_for(good, refused) == ErrorSection::Text);
    std::get<Model>(refused.source).precision = inference::Precision::F16;
    CHECK(error_section_for(good, refused) == ErrorSection::Model);
    CHECK(error_section_for(run_inputs(State{}), good) == ErrorSection::Model);
  }

  TEST_CASE("where the header has no room for all that the map is, sizes go first and the kind last") {
    const auto measure = [](std::string_view text) {  // letters
      return static_cast<float>(std::ranges::count_if(text, [](char letter) { return (letter & 0xc0) != 0x80; }));
    };
    const HeadAbout about{.kind = "cross-attention",
                          .sizes = "4 × 13",
                          .line = "line 1 of 2",
                          .grouping = "words: sums over keys, means over queries",
                          .brief_grouping = "words"};
    const std::string whole = "cross-attention · 4 × 13 · line 1 of 2 · words: sums over keys, means over queries";
    CHECK(about.text() == whole);
    std::vector<std::string> seen;
    for (float room = measure(whole); room >= 1.0F; room -= 1.0F) {
      const std::string text = fit_about(about, room, measure);
      CHECK(measure(text) <= room);
      if (seen.empty() || seen.back() != text) seen.push_back(text);
    }
    REQUIRE(seen.size() > 6);
    CHECK(seen[0] == whole);
    CHECK(seen[1] == "cross-attention · 4 × 13 · line 1 of 2 · words");
    CHECK(seen[2] == "cross-attention · line 1 of 2 · words …");
    CHECK(seen[3] == "cross-attention · line 1 of 2 …");
    CHECK(seen[4] == "cross-attention …");
    CHECK(seen[5] == "cross-attention");
    CHECK(seen[6] == "cross-attenti…");
    CHECK(fit_about({.kind = "self-attention", .sizes = "12 × 12"}, 20.0F, measure) == "self-attention …");
  }
}

}  // namespace layout_test
