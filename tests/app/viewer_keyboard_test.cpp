// Controls of the window by keyboard alone: the walk with Tab, what keys do to the control they have come to, and who has
// the keys.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "app/state/map_settings.h"
#include "app/ui_driver.h"
#include "app/views/view_table.h"
#include "app/window/offscreen_viewer.h"

namespace viewer_keyboard_test {

using namespace headlight;
using namespace headlight::app;
using shell::kControl;
using shell::Key;
using shell::kShift;

namespace {

bool has_outline(UiDriver& ui) { return ui.ui().keyboard().rect().has_value(); }

/// Has this control the keyboard? Of a thumbnail the item has a caption below the map that is named.
bool is_at(UiDriver& ui, const std::string& name) {
  const std::optional<chart::Rect> rect = ui.ui().keyboard().rect();
  const std::optional<chart::Rect> named = ui.window().item_rect(name);
  return rect && named && rect->origin == named->origin && rect->size.x == named->size.x;
}

/// The controls with tooltips that have the keyboard: one, or none.
std::string place(UiDriver& ui) {
  for (const auto& item : ui.window().item_tips()) {
    if (is_at(ui, item.first)) return item.first;
  }
  return {};
}

/// Presses Tab until the control has the keyboard.
void walk_to(UiDriver& ui, const std::string& name, shell::Modifiers modifiers = {}) {
  constexpr int kMax = 300;
  REQUIRE(ui.sees(name));  // which opens the chip that has it
  for (int i = 0; i < kMax && !is_at(ui, name); ++i) ui.press(Key::Tab, modifiers);
  REQUIRE_MESSAGE(is_at(ui, name), "Tab doesn't come to ", name);
}

/// Returns the names of the places that Tab comes to, until it is at the first one again; arrows look into the rows and
/// lists on the way.
std::vector<std::string> walk_round(UiDriver& ui) {
  constexpr std::size_t kMax = 300;
  ui.press(Key::Tab);
  std::vector<std::string> names = {place(ui)};
  REQUIRE_FALSE(names.front().empty());
  ui.press(Key::Tab);
  for (; !is_at(ui, names.front()); ui.press(Key::Tab)) {
    REQUIRE(has_outline(ui));
    names.push_back(place(ui));
    REQUIRE(names.size() < kMax);
  }
  return names;
}

/// "mask.fill.0", "heads.pin.1.3": one of a row or list, in which arrows move; what they have in common with the others.
std::string list_of(std::string name) {
  while (name.find_last_not_of("0123456789") + 1 < name.size()) {
    name.resize(name.find_last_not_of("0123456789") + 1);
    if (name.ends_with('.')) name.pop_back();
  }
  return name;
}

/// Is it one of the stops, or in a list that is one of them?
bool is_reached(const std::string& name, const std::vector<std::string>& stops) {
  const std::string list = list_of(name);
  return std::ranges::any_of(
      stops, [&](const std::string& stop) { return stop == name || (list != name && list_of(stop) == list); });
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("Tab comes to the text, the chips and the panel that one opens, then to the others, and back to the first") {
    UiDriver ui(with_text("one two three"));
    CHECK_FALSE(has_outline(ui));
    ui.click("chip.mask");
    const chart::Rect panel = ui.rect("chip.panel");
    std::vector<std::string> in_panel;
    for (const auto& item : ui.window().item_tips()) {
      if (panel_of(item.first) == "mask" && panel.contains(ui.rect(item.first).center())) in_panel.push_back(item.first);
    }
    CHECK(in_panel.size() > 8);
    const std::vector<std::string> stops = walk_round(ui);
    const auto at = [&](const char* name) { return std::ranges::find(stops, name) - stops.begin(); };
    CHECK(at("tab.head") < at("chip.model"));
    CHECK(at("chip.model") < at("mask.causal"));
    CHECK(at("mask.causal") < at("chip.mask"));
    CHECK(at("chip.lessons") < at("mask.window"));
    CHECK(at("mask.window") < at("head.gain"));
    CHECK(at("head.gain") < at("view.grid_order.0"));
    for (const std::string& name : in_panel) {
      CAPTURE(name);
      const bool is_disabled = name == "mask.reset";  // there is nothing to reset
      CHECK((is_disabled || is_reached(name, stops)));
    }
    walk_to(ui, "chip.model");
    ui.press(Key::Enter);
    CHECK(ui.sees("chip.panel.model"));
    CHECK_FALSE(ui.sees("chip.panel.mask"));
    ui.press(Key::Escape);
    CHECK_FALSE(ui.sees("chip.panel"));
  }

  TEST_CASE("Space switches the causal mask, Shift+Tab goes back, and Esc gives the arrows back to the map") {
    UiDriver ui(with_text("one two three"));
    walk_to(ui, "mask.causal");
    const bool was_causal = ui.state().masks.by_kind[0].rule.causal;
    const Selection selected = ui.state().selection;
    ui.press(Key::Space);
    CHECK(ui.state().masks.by_kind[0].rule.causal != was_causal);
    ui.press(Key::Enter);
    CHECK(ui.state().masks.by_kind[0].rule.causal == was_causal);
    ui.press(Key::Right);
    ui.press(Key::Left);
    CHECK(ui.state().selection == selected);
    walk_to(ui, "mask.causal");
    ui.press(Key::Tab);
    CHECK_FALSE(is_at(ui, "mask.causal"));
    ui.press(Key::Tab, kShift);
    CHECK(is_at(ui, "mask.causal"));
    ui.press(Key::Escape);
    CHECK_FALSE(has_outline(ui));
    ui.press(Key::Right);
    CHECK(ui.state().selection.head == selected.head + 1);
    ui.press(Key::Space);
    CHECK(ui.state().masks.by_kind[0].rule.causal == was_causal);
  }

  TEST_CASE("a list opens, is chosen from by arrows and Enter, and Esc closes it alone") {
    UiDriver ui(with_text("one two three"));
    walk_to(ui, "head.range");
    ui.press(Key::Enter);
    REQUIRE(ui.sees("head.range.0"));
    CHECK(is_at(ui, "head.range.0"));
    ui.press(Key::Down);
    CHECK(is_at(ui, "head.range.1"));
    ui.press(Key::Enter);
    CHECK_FALSE(ui.sees("head.range.0"));
    CHECK(is_at(ui, "head.range"));
    CHECK(ui.state()[kMapView.color_range] == ColorRange::PerRow);
    ui.press(Key::Space);
    CHECK(is_at(ui, "head.range.1"));
    ui.press(Key::Escape);
    CHECK_FALSE(ui.sees("head.range.0"));
    CHECK(is_at(ui, "head.range"));
    CHECK(ui.state()[kMapView.color_range] == ColorRange::PerRow);
  }

  TEST_CASE("arrows move in a row of choices and change a slider, and none of it moves the map") {
    UiDriver ui(with_text("one two three"));
    const Selection selected = ui.state().selection;
    walk_to(ui, "mask.fill.0");
    ui.press(Key::Right);
    CHECK(is_at(ui, "mask.fill.1"));
    ui.press(Key::Space);
    CHECK(ui.state().masks.by_kind[0].fill != State{}.masks.by_kind[0].fill);
    walk_to(ui, "mask.window");
    ui.press(Key::Right);
    ui.press(Key::Right);
    CHECK(ui.state().masks.by_kind[0].rule.window == 2);
    ui.press(Key::Left);
    CHECK(ui.state().masks.by_kind[0].rule.window == 1);
    ui.press(Key::Enter);
    ui.press(Key::A, kControl);
    ui.type("3");
    ui.press(Key::Enter);
    CHECK(ui.state().masks.by_kind[0].rule.window == 3);
    CHECK(is_at(ui, "mask.window"));
    walk_to(ui, "tab.head");
    ui.press(Key::Right);
    ui.press(Key::Enter);
    CHECK(ui.state().view.tab != State{}.view.tab);
    CHECK(ui.state().selection == selected);
  }

  TEST_CASE("a text field that Tab comes to is edited, and Tab leaves it") {
    UiDriver ui(with_text("one two three"));
    walk_to(ui, "text.edit");
    CHECK(ui.ui().is_typing());
    ui.type(" four");
    CHECK(ui.state().text() == "one two three four");
    ui.press(Key::Tab);
    CHECK_FALSE(ui.ui().is_typing());
    CHECK(has_outline(ui));
    CHECK(ui.state().text() == "one two three four");
    ui.click("text.edit");
    CHECK_FALSE(has_outline(ui));
    ui.press(Key::Tab, kShift);
    CHECK_FALSE(ui.ui().is_typing());
    CHECK(has_outline(ui));
    ui.press(Key::Tab);
    CHECK(ui.ui().is_typing());
    ui.press(Key::Escape);
    CHECK_FALSE(ui.ui().is_typing());
    CHECK_FALSE(has_outline(ui));
  }

  TEST_CASE("a dialog keeps Tab, and gives the keyboard back to what opened it") {
    UiDriver ui(with_text("one two three"));
    walk_to(ui, "mask.causal");
    ui.press(Key::E, kControl);
    REQUIRE(ui.window().export_dialog().is_open());

    const std::vector<std::string> stops = walk_round(ui);
    CHECK(stops.size() > 8);
    for (const std::string& stop : stops) {
      CAPTURE(stop);
      CHECK((stop.empty() || stop.starts_with("export.")));
    }
    CHECK(std::ranges::find(stops, "export.save") != stops.end());
    walk_to(ui, "export.more");
    ui.press(Key::Enter);
    CHECK(ui.sees("export.start"));
    CHECK(ui.window().export_dialog().is_open());
    ui.press(Key::Escape);
    CHECK_FALSE(ui.window().export_dialog().is_open());
    CHECK(is_at(ui, "mask.causal"));
    ui.press(Key::E, kControl);
    ui.press(Key::Tab);
    ui.press(Key::Escape);
    CHECK_FALSE(ui.window().export_dialog().is_open());
  }

  TEST_CASE("a click ends the outline, and Tab goes on from there") {
    UiDriver ui(with_text("one two three"));
    walk_to(ui, "tab.head");
    ui.click("mask.causal");
    CHECK_FALSE(has_outline(ui));
    ui.press(Key::Tab);
    const std::string behind = place(ui);
    CHECK(behind.starts_with("mask."));
    ui.press(Key::Tab, kShift);
    CHECK(is_at(ui, "mask.causal"));
  }

  TEST_CASE("an outlined control draws no frames, and one out of sight is scrolled to") {
    UiDriver ui(with_text("one two three"));
    ui.resize(1280, 500);
    ui.resize(1280, 400);
    ui.click("chip.mask");
    const chart::Rect status = ui.rect("chip.panel");
    ui.feed({shell::MouseLeave{}});
    for (const char* name : {"mask.paint_reach.0", "mask.fill.0"}) {
      walk_to(ui, name);
      CHECK(ui.rect(name).origin.y >= status.origin.y);
      CHECK(ui.rect(name).end().y <= status.end().y);
    }
    ui.draw_every_frame();
    const std::uint64_t before = ui.ui().frames_drawn();
    for (int i = 0; i < 5; ++i) ui.settle();
    CHECK(ui.ui().frames_drawn() == before);
    CHECK(ui.ui().redraw_after_s() > 1e9);
  }

  TEST_CASE("heads of the grid, tokens and the views' own controls are reached and pressed") {
    UiDriver ui(with_text("one two three"));
    ui.resize(1600, 1020);
    walk_to(ui, "grid.encoder.0.0");
    ui.press(Key::Right);
    ui.press(Key::Down);
    CHECK(is_at(ui, "grid.encoder.0.5"));  // below the second of a line of four
    ui.press(Key::Enter);
    CHECK(ui.state().selection.head == 5);
    CHECK(ui.ui().keyboard().is_active());
    walk_to(ui, "chips.query.0.0");
    ui.press(Key::Right);
    CHECK(is_at(ui, "chips.query.0.1"));
    ui.press(Key::Space);
    CHECK(ui.state().view.pinned.has_value());
    ui.press(Key::Tab);
    CHECK_FALSE(is_at(ui, "chips.query.0.2"));
  }

  TEST_CASE("Tab walks round in every view, past each of its controls that a key can press") {
    UiDriver ui(with_text("one two three"));
    show_golden_model(ui, "gpt2");
    // These names are left out: those that ask where on them the pointer is; titles; those at an end or without an
    // order, which are disabled; and those in a list whose first entry has another name.
    const std::array<std::string_view, 13> of_pointer = {"block.heads",
                                                         "block.residual chart",
                                                         "heads.pad",
                                                         "head.columns_of_labels",
                                                         "head.rows_of_labels",
                                                         "head.title",
                                                         "heads.similar.map",
                                                         "lens.title",
                                                         "block.next",
                                                         "model.turn",
                                                         "heads.pin",
                                                         "control.head.previous",
                                                         "control.layer.previous"};
    const std::array<std::string_view, 5> lists = {"block.", "heads.order.", "lines.", "prompts.order.", "steps.small."};
    const auto is_exception = [&](const std::string& name, const std::vector<std::string>& stops) {
      const auto is_start = [&](std::string_view start) { return name.starts_with(start); };
      if (name.ends_with(".next") || std::ranges::any_of(of_pointer, is_start)) return true;
      const auto list = std::ranges::find_if(lists, is_start);
      return list != lists.end() &&
             std::ranges::any_of(stops, [&](const std::string& stop) { return stop.starts_with(*list); });
    };
    for (const View& view : views()) {
      CAPTURE(view.id);
      ui.press(Key::Escape);
      ui.click(fmt::format("tab.{}", view.id));
      const chart::Rect tab = ui.rect("chip.model"), right = ui.rect(ui.sees("rail.grid") ? "rail.grid" : "splitter.grid");
      std::vector<std::string> controls;
      for (const auto& item : ui.window().item_tips()) {
        const chart::Rect rect = ui.rect(item.first);
        const bool is_in_view = rect.origin.y > tab.end().y && rect.end().x < right.end().x;
        if (is_in_view) controls.push_back(item.first);
      }
      const std::vector<std::string> stops = walk_round(ui);
      for (const std::string& name : controls) {
        CAPTURE(name);
        CHECK((is_exception(name, stops) || is_reached(name, stops)));
      }
    }
    ui.press(Key::Escape);
    ui.click("tab.heads");
    walk_to(ui, "heads.row.L0 H0");
    ui.press(Key::Left);
    REQUIRE(is_at(ui, "heads.pin.0.0"));
    ui.press(Key::Space);
    CHECK(ui.state().heads.pinned.size() == 1);
    ui.press(Key::Right);
    ui.press(Key::Down);
    ui.press(Key::Enter);
    CHECK(ui.state().selection.head == 1);
    CHECK(ui.state().view.tab == "heads");
    ui.press(Key::Enter);  // the selected one is opened
    CHECK(ui.state().view.tab == "head");
  }

  TEST_CASE("the outline is seen in every theme") {
    for (const Theme theme : {Theme::Light, Theme::Dark, Theme::HighContrast}) {
      State state = with_text("one two three");
      state.view.theme = theme;
      UiDriver ui(state);
      walk_to(ui, "mask.causal");
      ui.draw_every_frame();
      const std::uint64_t before = ui.ui().pixels_drawn();
      ui.press(Key::Tab);
      CHECK(ui.ui().pixels_drawn() > before);
    }
  }

  TEST_CASE("F10, or Alt alone, opens the menus; arrows walk them, letters find entries, Esc leaves") {
    UiDriver ui(with_text("one two three"));
    const State before = ui.state();
    ui.press(Key::F10);
    REQUIRE(ui.sees("menu.Open model\u2026"));
    CHECK(has_outline(ui));
    ui.press(Key::Right);
    CHECK_FALSE(ui.sees("menu.Open model\u2026"));
    CHECK(ui.sees("menu.Undo"));
    ui.press(Key::Left);
    ui.press(Key::Left);
    CHECK(ui.sees("menu.About"));
    ui.type("a");
    CHECK(is_at(ui, "menu.About"));
    ui.press(Key::Escape);
    CHECK_FALSE(ui.sees("menu.About"));
    CHECK_FALSE(has_outline(ui));
    CHECK(ui.state() == before);
    const shell::Modifiers alt{.alt = true};
    ui.feed({shell::KeyPress{Key::LeftAlt, true, alt}, shell::KeyPress{Key::LeftAlt, false}});
    REQUIRE(ui.sees("menu.Open model\u2026"));
    ui.press(Key::F10);
    CHECK_FALSE(ui.sees("menu.Open model\u2026"));
    ui.feed({shell::KeyPress{Key::LeftAlt, true, alt}, shell::KeyPress{Key::Left, true, alt},
             shell::KeyPress{Key::Left, false, alt}, shell::KeyPress{Key::LeftAlt, false}});
    CHECK_FALSE(ui.sees("menu.Open model\u2026"));
  }

  TEST_CASE("Right opens a menu beside its title, Left closes it, and Enter chooses in it") {
    UiDriver ui(with_text("one two three"));
    ui.press(Key::F10);
    ui.press(Key::Right);
    ui.press(Key::Right);
    ui.type("interf");
    REQUIRE(is_at(ui, "menu.Interface scale"));
    ui.press(Key::Right);
    REQUIRE(ui.sees("menu.Larger"));
    CHECK(is_at(ui, "menu.Larger"));
    ui.press(Key::Left);
    CHECK_FALSE(ui.sees("menu.Larger"));
    CHECK(is_at(ui, "menu.Interface scale"));
    ui.press(Key::Right);
    const float scale = ui.state().view.ui_scale;
    ui.press(Key::Enter);
    CHECK(ui.state().view.ui_scale != scale);
    CHECK_FALSE(ui.sees("menu.Interface scale"));
    CHECK_FALSE(has_outline(ui));
  }

  TEST_CASE("a list that the pointer has opened takes arrows, letters and Enter") {
    UiDriver ui(with_text("one two three"));
    const Selection before = ui.state().selection;
    ui.click("head.mean");
    ui.press(Key::Down);
    ui.press(Key::Enter);
    CHECK(ui.state().selection.mean != before.mean);
    CHECK(ui.state().selection.head == before.head);
    ui.click("head.mean");
    ui.type("h");
    ui.press(Key::Enter);
    CHECK(ui.state().selection.mean == before.mean);
    ui.click("head.mean");
    ui.press(Key::Escape);
    CHECK_FALSE(ui.sees("head.mean.layer"));
  }

  TEST_CASE("a model that was opened with Enter leaves the keyboard to the map, also where the text had it") {
    UiDriver ui(with_text("one two three"));
    ui.click("text.edit");
    ui.press(Key::O, kControl);
    ui.type(kGoldenModels + "gpt2");
    ui.press(Key::Enter);
    ui.settle();
    REQUIRE_FALSE(ui.sees("browser.path"));
    REQUIRE(is_model(ui.state().source));
    CHECK_FALSE(ui.ui().is_typing());
    const std::string text = ui.state().text();
    ui.press(Key::Digit7);
    CHECK(ui.state().text() == text);
  }
}

}  // namespace viewer_keyboard_test
