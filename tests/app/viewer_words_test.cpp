// The map of words, its bars, locked rows and columns, dragged ranges, and copies of numbers.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include <imgui.h>

#include "app/state/map_settings.h"
#include "app/ui_driver.h"
#include "app/window/panels.h"

namespace viewer_words_test {

using namespace headlight;
using namespace headlight::app;
using shell::Key;

namespace {

void choose(UiDriver& ui, const std::string& what) {
  ui.click("head.shown");
  ui.click("head.shown." + what);
}

std::string copied(UiDriver& ui, const std::string& entry) {
  ImGui::SetClipboardText("nothing");
  ui.click("menu.Edit");
  ui.click("menu." + entry);
  ui.settle();
  return ImGui::GetClipboardText();
}

std::size_t lines_of(const std::string& text) { return static_cast<std::size_t>(std::ranges::count(text, '\n')); }

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a table names its rows and columns, and labels have no tabs") {
    const std::vector<std::string> rows = {"a\tb", "c"};
    const std::vector<std::string> columns = {"x", "y\n"};
    const std::vector<float> values = {0.5F, 1.0F, 0.25F, 0.0F};
    CHECK(to_table(rows, columns, values) == "query\tx\ty \na b\t0.5\t1\nc\t0.25\t0\n");
  }
}

TEST_SUITE("gpu") {
  TEST_CASE("words instead of tokens, without special tokens, and back") {
    UiDriver ui;
    show_golden_model(ui, "gpt2");
    ui.fill_in("text.edit", "the cats sat");
    REQUIRE(ui.result().input->source.length > 3);
    CHECK(ui.sees("head.map"));
    choose(ui, "groups_words");
    CHECK(ui.state()[kMapView.groups_words]);
    CHECK(ui.window().undo().undo_label() == "Switch words");
    CHECK(ui.sees("head.words"));
    CHECK_FALSE(ui.sees("head.map"));
    choose(ui, "special_tokens.renormalized");
    CHECK(ui.state()[kMapView.special_tokens] == SpecialTokens::Renormalized);
    CHECK(ui.sees("head.words"));
    choose(ui, "groups_words");
    choose(ui, "special_tokens.shown");
    CHECK(ui.sees("head.map"));
    CHECK_FALSE(ui.sees("head.words"));
  }

  TEST_CASE("bars are beside the map and below it, of tokens and of words") {
    UiDriver ui;
    choose(ui, "shows_marginals");
    for (const char* map : {"head.map", "head.words"}) {
      CAPTURE(std::string(map));
      REQUIRE(ui.sees("head.given"));
      REQUIRE(ui.sees("head.received"));
      CHECK(ui.rect("head.given").origin.x >= ui.rect(map).end().x);
      CHECK(ui.rect("head.received").origin.y >= ui.rect(map).end().y);
      CHECK(chart::intersection(ui.rect("head.given"), ui.rect("head.received")).is_empty());
      ui.move_to("head.given");
      ui.move_to("head.received");
      if (ui.sees("head.map")) choose(ui, "groups_words");
    }
  }

  TEST_CASE("a label's click locks its row or column; another click or Esc releases it") {
    UiDriver ui;
    ui.click_within("head.rows_of_labels", 0.5F, 0.25F);
    const std::uint32_t rows = ui.result().shapes.at(ui.state().selection.block).queries;
    CHECK(ui.state().view.locked == LockedToken{MapSide::Query, rows / 4});
    CHECK(ui.window().undo().undo_label() == "Lock token");
    ui.click_within("head.rows_of_labels", 0.5F, 0.25F);
    CHECK_FALSE(ui.state().view.locked);
    ui.click_within("head.columns_of_labels", 0.99F, 0.9F);
    CHECK(ui.state().view.locked->side == MapSide::Key);
    CHECK(ui.state().view.locked->token == rows - 1);
    ui.press(Key::Escape);
    CHECK_FALSE(ui.state().view.locked);
  }

  TEST_CASE("the map, a row, a column and a dragged range are copied as tables") {
    UiDriver ui;
    const inference::BlockShape shape = ui.result().shapes.at(ui.state().selection.block);
    REQUIRE(shape.queries == 6);
    const std::string whole = copied(ui, "Copy map as a table");
    CHECK(lines_of(whole) == 7);
    CHECK(std::ranges::count(whole, '\t') == 7 * 6);
    CHECK(whole.starts_with("query\tLife\t"));
    ui.press(Key::Escape);  // the notice
    CHECK(copied(ui, "Copy row") == "nothing");
    ui.press(Key::Escape);  // the menu, which a disabled entry leaves open
    ui.click_within("head.rows_of_labels", 0.5F, 0.4F);
    const std::string row = copied(ui, "Copy row");
    CHECK(row.starts_with("key\t"));
    CHECK(lines_of(row) == 7);
    CHECK(std::ranges::count(row, '\t') == 7);
    ui.press(Key::Escape);  // the notice
    ui.press(Key::Escape);  // the lock
    CHECK_FALSE(ui.state().view.locked);
    const chart::Rect map = ui.rect("head.map");
    ui.ui().feed(shell::drag(map.origin + map.size * 0.25F, map.origin + map.size * glm::vec2(0.75F, 0.4F)));
    ui.settle();
    ui.press(Key::Escape);  // the range's own menu
    const std::string range = copied(ui, "Copy map as a table");
    CHECK(lines_of(range) == 3);
    CHECK(std::ranges::count(range, '\t') == 3 * 4);
    ui.press(Key::Escape);  // the notice
    ui.press(Key::Escape);  // the range
    CHECK(lines_of(copied(ui, "Copy map as a table")) == 7);
  }
}

}  // namespace viewer_words_test
