// Several views at once: panes that are opened, dragged, pinned, closed, and what the keyboard reaches.
#include <doctest/doctest.h>

#include <imgui.h>
#include <imgui_internal.h>

#include "app/commands/command_list.h"
#include "app/state/view_pane.h"
#include "app/ui_driver.h"

namespace viewer_split_test {

using namespace headlight;
using namespace headlight::app;
using shell::Key;

namespace {

/// Starts a command from the palette, by its label.
void run(UiDriver& ui, std::string_view id) {
  ui.press(Key::P, shell::kControl);
  ui.type(find_command(id).label);
  REQUIRE(ui.window().palette().entry(0).title == find_command(id).label);
  ui.press(Key::Enter);
}

/// The place of the ImGui window of a pane.
chart::Rect window_of(const char* name) {
  const ImGuiWindow* window = ImGui::FindWindowByName(name);
  REQUIRE(window != nullptr);
  REQUIRE(window->WasActive);
  return {.origin = {window->Pos.x, window->Pos.y}, .size = {window->Size.x, window->Size.y}};
}

bool is_open(const char* name) {
  const ImGuiWindow* window = ImGui::FindWindowByName(name);
  return window != nullptr && window->WasActive;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("a view opens beside another; keys reach the one that was clicked") {
    UiDriver ui(with_text("one two three four"));
    const chart::Rect whole = window_of("center");
    run(ui, "pane.beside.lines");
    CHECK(ui.state().view.tab == "lines");
    CHECK(window_of("center").size.x == doctest::Approx(whole.size.x / 2.0F).epsilon(0.01));
    CHECK(window_of("center 1").end().x == whole.end().x);
    CHECK(ui.sees("pane0.head.map"));
    // The digits show views in the pane that has the keyboard.
    ui.show("text");
    CHECK(ui.state().view.tab == "text");
    CHECK(ui.sees("pane0.head.map"));
    ui.click("pane0.head.map");
    CHECK(ui.state().view.tab == "head");
    CHECK(ui.sees("head.map"));
    CHECK(ui.sees("pane1.text.area"));
    ui.press(Key::F6);
    CHECK(ui.state().view.tab == "text");
    // One alone, and with the others again.
    ui.press(Key::F6, shell::kShift);
    CHECK(window_of("center 1") == whole);
    CHECK_FALSE(is_open("center"));
    ui.press(Key::F6, shell::kShift);
    CHECK(is_open("center"));
    check_tips(ui);
    ui.click("pane0.pane.close");
    CHECK(ui.state().view.panes == ViewPane());
    CHECK(ui.state().view.tab == "text");
    CHECK(window_of("center") == whole);
    CHECK_FALSE(is_open("center 1"));
  }

  TEST_CASE("a tab is dropped at the edge of a pane; the border between panes is dragged") {
    UiDriver ui(with_text("one two three four"));
    const chart::Rect whole = window_of("center");
    const float scale = ui.ui().scale();
    ui.feed(shell::drag(ui.at("tab.lines", 0.5F, 0.5F), (whole.origin + whole.size * glm::vec2(0.5F, 0.97F)) * scale));
    REQUIRE(ui.state().view.panes.parts.size() == 2);
    CHECK(ui.state().view.panes.is_column);
    CHECK(ui.state().view.tab == "lines");
    CHECK(window_of("center 1").origin.y > whole.origin.y + whole.size.y * 0.4F);
    // Beside the panes it does nothing.
    ui.feed(shell::drag(ui.at("tab.text", 0.5F, 0.5F), ui.at("tabs.Look", 0.5F, 0.5F)));
    CHECK(panes_of(const_cast<ViewPane&>(ui.state().view.panes)).size() == 2);
    const glm::vec2 border = ui.at("splitter.pane.0", 0.5F, 0.5F);
    ui.feed(shell::drag(border, border - glm::vec2(0.0F, 0.25F * whole.size.y) * scale));
    CHECK(ui.state().view.panes.share == doctest::Approx(0.25).epsilon(0.03));
    // It is a look: undo has nothing of it, and Back brings one pane back.
    CHECK(ui.window().undo().position() == 0);
  }

  TEST_CASE("the same view twice shows two heads: one follows the selection, one is pinned") {
    UiDriver ui(with_text("one two three four"));
    run(ui, "pane.beside.head");
    run(ui, "pane.pin");
    const Selection first = ui.state().selection;
    REQUIRE(pane_with_keys(const_cast<ViewChoices&>(ui.state().view)).pinned == first);
    ui.press(Key::F6);
    ui.click("grid.encoder.0.5");
    CHECK(ui.state().selection.head == 5);
    const std::vector<ViewPane*> panes = panes_of(const_cast<ViewPane&>(ui.state().view.panes));
    CHECK_FALSE(panes[0]->pinned);
    CHECK(panes[1]->pinned == first);
    CHECK(ui.sees("head.map"));
    CHECK(ui.sees("pane1.head.map"));
    // Pinned where another model has fewer heads, it shows the last one.
    ui.fill_in("model.heads", "4");
    ui.click("grid.encoder.0.3");
    CHECK(ui.sees("pane1.head.map"));
    ui.click("pane1.pane.pin");
    CHECK_FALSE(panes_of(const_cast<ViewPane&>(ui.state().view.panes))[1]->pinned);
    CHECK(ui.state().selection.head == 3);
  }

  TEST_CASE("every view opens beside every other without a message") {
    UiDriver ui(with_text("one two three four"));
    for (const View& view : views()) {
      CAPTURE(view.id);
      run(ui, fmt::format("pane.beside.{}", view.id));
      CHECK(ui.state().view.tab == view.id);
      CHECK_FALSE(ui.window().notice().is_shown());
      if (panes_of(const_cast<ViewPane&>(ui.state().view.panes)).size() == kMostPanes) run(ui, "pane.reset");
    }
  }
}

}  // namespace viewer_split_test
