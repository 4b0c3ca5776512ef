// Letters typed outside of a text box: shortcuts one by one, a text where they follow each other.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "app/ui_driver.h"
#include "app/window/offscreen_viewer.h"

namespace viewer_typing_test {

using namespace headlight;
using namespace headlight::app;
using shell::Key;

TEST_SUITE("gpu") {
  TEST_CASE("a sentence typed after Esc changes nothing, is offered to the text, and Enter puts it there") {
    for (const double gap_s : {0.02, 0.12, 0.3, 0.7}) {
      CAPTURE(gap_s);
      UiDriver ui(with_text("one two three"));
      ui.click("text.edit");
      ui.press(Key::Escape);
      const State before = ui.state();
      ui.type_keys("the dog sat on top of a pink couch 27", gap_s);
      CHECK(ui.state() == before);
      CHECK_FALSE(ui.window().undo().can_undo());
      CHECK_FALSE(ui.window().is_painting());
      REQUIRE(ui.sees("typed.add"));
      ui.press(Key::Enter);
      CHECK(ui.state().text() == "one two three the dog sat on top of a pink couch 27");
      CHECK_FALSE(ui.sees("typed.add"));
      CHECK(ui.ui().is_typing());
      ui.type(" more");
      CHECK(ui.state().text() == "one two three the dog sat on top of a pink couch 27 more");
    }
  }

  TEST_CASE("the offer can be refused, corrected, taken by a click, and waits for its answer") {
    UiDriver ui(with_text("one two three"));
    const State before = ui.state();
    ui.type_keys("stop it", 0.1);
    REQUIRE(ui.sees("typed.leave"));
    ui.press(Key::Escape);
    CHECK_FALSE(ui.sees("typed.leave"));
    CHECK(ui.state() == before);
    ui.type_keys("a cats", 0.1);
    ui.press(Key::Backspace);
    ui.click("typed.replace");
    CHECK(ui.state().text() == "a cat");
    ui.press(Key::Escape);
    ui.type_keys("hello", 0.1);
    REQUIRE(ui.sees("typed.leave"));
    ui.wait(600.0);
    ui.settle();
    ui.settle();
    REQUIRE(ui.sees("typed.leave"));
    CHECK(ui.state().text() == "a cat");
    ui.press(Key::Enter);
    CHECK(ui.state().text() == "a cat hello");
  }

  TEST_CASE("single letters are shortcuts, also one after the other") {
    UiDriver ui(with_text("one two three"));
    const Theme theme = ui.state().view.theme;
    const bool was_causal = ui.state().masks.by_kind[0].rule.causal;
    ui.type_keys("t", 0.01);
    CHECK(ui.state().view.theme != theme);
    ui.wait(0.3);
    ui.type_keys("c", 0.01);
    CHECK(ui.state().masks.by_kind[0].rule.causal != was_causal);
    CHECK_FALSE(ui.sees("typed.leave"));
    ui.wait(2.0);
    ui.type_keys("2", 0.01);
    CHECK(ui.state().view.tab != State{}.view.tab);
  }

  TEST_CASE("a capture or notebook has no text box, and what is typed there starts nothing either") {
    State state;
    select_preset(state, "notebook-001");
    UiDriver ui(state);
    const State before = ui.state();
    ui.type_keys("kept back", 0.1);
    CHECK(ui.state() == before);
    CHECK(ui.sees("typed.leave"));
    CHECK_FALSE(ui.sees("typed.add"));
    ui.press(Key::Escape);
    CHECK_FALSE(ui.sees("typed.leave"));
  }

  TEST_CASE("only the very first start gives the text box the keyboard") {
    {
      UiDriver first(with_text("one two three"), open_reference_runner, {}, false, true);
      CHECK(first.ui().is_typing());
      first.type_keys("7", 0.1);
      CHECK(first.state().text().find('7') != std::string::npos);
    }
    UiDriver later(with_text("one two three"));
    CHECK_FALSE(later.ui().is_typing());
    later.type_keys("7", 0.1);
    CHECK(later.state().text() == "one two three");
    CHECK(later.state().view.tab != State{}.view.tab);
  }
}

}  // namespace viewer_typing_test
