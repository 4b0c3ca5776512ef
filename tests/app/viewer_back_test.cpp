// Back and Forward in the window: keys, buttons, and what they leave alone.
#include <doctest/doctest.h>

#include "app/ui_driver.h"

namespace viewer_back_test {

using namespace headlight;
using namespace headlight::app;
using shell::Key;

TEST_SUITE("gpu") {
  TEST_CASE("Alt with arrows, the buttons of the row and of the mouse go back and forward; undo looks elsewhere") {
    UiDriver ui(with_text("one two three"));
    ui.wait(2.0);
    ui.show("steps");
    ui.wait(2.0);
    ui.press(Key::C);
    REQUIRE(ui.state().masks.by_kind[0].rule.causal);
    ui.wait(2.0);
    ui.show("lines");
    ui.wait(2.0);
    ui.press(Key::Left, shell::kAlt);
    CHECK(ui.state().view.tab == "steps");
    CHECK(ui.state().masks.by_kind[0].rule.causal);
    ui.wait(2.0);
    ui.click("row.view.back");
    CHECK(ui.state().view.tab == "head");
    ui.wait(2.0);
    ui.click("row.view.back");  // there is nothing before
    CHECK(ui.state().view.tab == "head");
    ui.wait(2.0);
    ui.press(Key::Right, shell::kAlt);
    CHECK(ui.state().view.tab == "steps");
    ui.wait(2.0);
    ui.feed(shell::click_at(ui.at("tabs.Look", 0.5F, 0.5F), shell::MouseButton::Forward));
    CHECK(ui.state().view.tab == "lines");
    ui.wait(2.0);
    ui.feed(shell::click_at(ui.at("tabs.Look", 0.5F, 0.5F), shell::MouseButton::Back));
    CHECK(ui.state().view.tab == "steps");
    ui.press(Key::Z, shell::kControl);
    CHECK_FALSE(ui.state().masks.by_kind[0].rule.causal);
    CHECK(ui.state().view.tab == "steps");
    check_tips(ui);
  }

  TEST_CASE("a head that another model lacks is skipped") {
    UiDriver ui(with_text("one two three"));
    ui.wait(2.0);
    ui.click("grid.encoder.0.7");
    REQUIRE(ui.state().selection.head == 7);
    ui.wait(2.0);
    ui.show("steps");
    ui.wait(2.0);
    ui.fill_in("model.heads", "4");
    REQUIRE(ui.result().shapes.begin()->second.heads == 4);
    ui.wait(2.0);
    ui.press(Key::Left, shell::kAlt);
    CHECK(ui.state().selection.head < 4);
    CHECK(ui.state().view.tab == "head");
    CHECK(ui.result().error.empty());
  }
}

}  // namespace viewer_back_test
