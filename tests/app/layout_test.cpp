#include <doctest/doctest.h>

#include "app/blame.h"
#include "app/layout.h"

using namespace headlight;
using namespace headlight::app;

namespace {

float right(const shell::UiRect& rect) { return rect.x + rect.width; }
float bottom(const shell::UiRect& rect) { return rect.y + rect.height; }

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("panes tile the window at every size") {
    for (const float width : {1.0F, 64.0F, 320.0F, 400.0F, 640.0F, 800.0F, 1024.0F, 1600.0F, 2560.0F}) {
      for (const float height : {1.0F, 30.0F, 60.0F, 250.0F, 640.0F, 1440.0F}) {
        for (const Strips& strips : {Strips{.menu = 26.0F}, Strips{.menu = 26.0F, .has_notice = true},
                                     Strips{.menu = 26.0F, .has_notice = true, .welcome = 130.0F, .texts = 150.0F}}) {
          CAPTURE(width);
          CAPTURE(height);
          const Layout layout = layout_window(width, height, strips, Panes{});
          CHECK(layout.sidebar.x == 0.0F);
          CHECK(bottom(layout.notice) == layout.welcome.y);
          CHECK(bottom(layout.welcome) == layout.texts.y);
          CHECK(bottom(layout.texts) == layout.sidebar.y);
          CHECK(right(layout.sidebar) == layout.center.x);
          CHECK(layout.center.x == layout.tabs.x);
          CHECK(right(layout.center) == layout.grid.x);
          CHECK(right(layout.grid) == doctest::Approx(width));
          CHECK(bottom(layout.tabs) == layout.center.y);
          CHECK(bottom(layout.center) == bottom(layout.sidebar));
          CHECK(bottom(layout.sidebar) == layout.status.y);
          for (const shell::UiRect& rect : {layout.sidebar, layout.tabs, layout.center, layout.grid, layout.status}) {
            CHECK(rect.width >= 0.0F);
            CHECK(rect.height >= 0.0F);
          }
        }
      }
    }
  }

  TEST_CASE("a wide window gives what is wished, a narrow one narrows the grid first and then drops it") {
    const Panes panes;
    const Layout wide = layout_window(1600.0F, 1000.0F, {.menu = 26.0F}, panes);
    CHECK(wide.sidebar.width == panes.sidebar);
    CHECK(wide.grid.width == panes.grid);
    const Layout small = layout_window(1024.0F, 640.0F, {.menu = 26.0F}, panes);
    CHECK(small.sidebar.width == panes.sidebar);
    CHECK(small.grid.width < panes.grid);
    CHECK(small.has_grid());
    CHECK(small.center.width >= kCenterMin);
    CHECK_FALSE(layout_window(640.0F, 400.0F, {.menu = 26.0F}, panes).has_grid());
    CHECK(layout_window(400.0F, 250.0F, {.menu = 26.0F}, panes).center.width >= 160.0F);
  }

  TEST_CASE("strips leave the map its room: the welcome gives way before the texts do") {
    const Strips strips{.menu = 26.0F, .welcome = 130.0F, .texts = 150.0F};
    const Layout tall = layout_window(1600.0F, 1000.0F, strips, Panes{});
    CHECK(tall.welcome.height == 130.0F);
    CHECK(tall.texts.height == 150.0F);
    const Layout low = layout_window(1600.0F, 500.0F, strips, Panes{});
    CHECK(low.texts.height == 150.0F);
    CHECK(low.welcome.height == 500.0F - 26.0F - 150.0F - kBodyMin);
    CHECK(layout_window(1600.0F, 200.0F, strips, Panes{}).texts.height == 0.0F);
  }

  TEST_CASE("splitters stop where the map would vanish") {
    Panes panes;
    const Layout layout = layout_window(1600.0F, 1000.0F, {.menu = 26.0F}, panes);
    drag_sidebar(panes, layout, 500.0F);
    CHECK(panes.sidebar == 500.0F);
    drag_sidebar(panes, layout, 5'000.0F);
    CHECK(panes.sidebar == 1600.0F - 300.0F - kCenterMin);
    drag_sidebar(panes, layout, -20.0F);
    CHECK(panes.sidebar == kSidebarMin);
    drag_grid(panes, layout, 1200.0F);
    CHECK(panes.grid == 400.0F);
    drag_grid(panes, layout, 1599.0F);
    CHECK(panes.grid == kGridMin);
  }

  TEST_CASE("a refusal belongs beside what changed") {
    const RunInputs good = run_inputs(State{});
    RunInputs refused = good;
    refused.text.clear();
    CHECK(blame_for(good, refused) == Blame::Text);
    refused.playground.heads = 7;
    CHECK(blame_for(good, refused) == Blame::Model);
    refused = good;
    refused.masks.by_kind[0].rule.causal = true;
    CHECK(blame_for(good, refused) == Blame::Masks);
  }

  TEST_CASE("what is wrong with a prompt is the text's fault, with a path or a precision the model's") {
    State state;
    state.model.path = "/models/gpt2";
    const RunInputs good = run_inputs(state);
    RunInputs refused = good;
    refused.model.adds_special = false;
    CHECK(blame_for(good, refused) == Blame::Text);
    refused.model.precision = inference::Precision::F16;
    CHECK(blame_for(good, refused) == Blame::Model);
    CHECK(blame_for(run_inputs(State{}), good) == Blame::Model);
  }
}
