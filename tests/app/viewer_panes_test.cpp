// Contents fit: the panes, whatever they show, the header's controls, and numbers in cells.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <imgui.h>
#include <imgui_internal.h>

#include "app/ui_driver.h"
#include "app/widgets/cell_numbers.h"
#include "app/widgets/text.h"

namespace viewer_panes_test {

using namespace headlight;
using namespace headlight::app;
using shell::Key;

namespace {

/// No pane needs a scroll bar, and nothing went wrong.
void check_panes(UiDriver& ui) {
  for (const char* pane : {"center", "grid"}) {
    CAPTURE(pane);
    const ImGuiWindow* window = ImGui::FindWindowByName(pane);
    REQUIRE(window);
    CHECK(window->WasActive);
    CHECK(window->ScrollMax.y == 0.0F);
  }
  CHECK_FALSE(ui.window().notice().is_shown());
}

/// The maps and the steps of a run, dark and light.
void check_both_views(UiDriver& ui) {
  for (const Theme theme : {Theme::Dark, Theme::Light}) {
    while (ui.state().view.theme != theme) ui.press(Key::T);
    for (const Key tab : {Key::Digit1, Key::Digit2}) {
      ui.press(tab);
      check_panes(ui);
    }
  }
}

void check_run(const State& state) {
  UiDriver ui(state);
  check_both_views(ui);
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("the header's controls are on two lines and never overlap, in windows from 1024 wide") {
    for (const bool is_long : {false, true}) {
      std::string text = "one two three";
      for (int i = 0; is_long && i < 70; ++i) text += " one two three";  // whose labels are low
      State state = with_text(text);
      state.playground().settings = {.d_model = 64, .heads = 16, .layers = 2};
      state.selection = {.block = {.layer = LayerIndex{1}}, .head = 15};
      UiDriver ui(state);
      for (const std::uint32_t width : {1024U, 1280U, 1440U, 1920U, 2560U}) {  // 696, 640, 731, 974 … of the map
        CAPTURE(width);
        ui.resize(width, 640);
        const chart::Rect center = ui.window().center();
        std::vector<std::string> names = {"head.title", "head.mean",  "head.gain",    "head.knock_out", "head.about",
                                          "head.brush", "head.shown", "head.stage.0", "head.stage.4"};
        for (std::size_t i = 0; i < names.size(); ++i) {
          const chart::Rect one = ui.rect(names[i]);
          CHECK_MESSAGE(one.end().x <= center.end().x - 15.0F, names[i]);
          for (std::size_t j = i + 1; j < names.size(); ++j) {
            CHECK_MESSAGE(chart::intersection(one, ui.rect(names[j])).is_empty(), names[i] << " and " << names[j]);
          }
        }
        const float second_line = ui.rect("head.about").origin.y;
        CHECK((ui.rect("head.gain").origin.y < second_line) == (center.size.x >= 664.0F));  // else beside the brush
        CHECK(ui.rect("head.map").origin.y < second_line + 150.0F);
      }
    }
  }

  TEST_CASE("the smallest cell with a number has room for two decimals") {
    UiDriver ui;
    CHECK(text_width(ui.ui().fonts().mono_small, "0.00") <= kMinNumberCellWidth);
    CHECK(text_width(ui.ui().fonts().mono_small, "0.000") > kMinNumberCellWidth);
  }

  TEST_CASE("every kind of run fits the panes, light and dark, at one and two pixels a unit") {
    {
      UiDriver ui;
      check_both_views(ui);
      ui.resize(3200, 2000, 2.0F);
      check_both_views(ui);
    }
    State state = with_text("Life is short, eat dessert first\nand sleep");
    state.masks[model::BlockKind::EncoderSelf].rule.causal = true;
    state.selection.batch = 1;
    state.view.pinned = attention::Cell{.query = 3, .key = 0};
    {
      UiDriver ui(state);
      ui.feed({shell::MouseMove{ui.at("head.map", 0.6F, 0.3F)}});
      check_panes(ui);
      ui.click("head.stage.2");
      check_panes(ui);
      ui.click("head.stage.3");
      ui.move_to("grid.encoder.0.3");
      check_panes(ui);
      ui.press(Key::Digit2);
      ui.click("grid.line.0");
      ui.resize(1600, 1900);
      for (const char* name : {"q", "scores", "scaled", "masked", "weights", "heads", "merged", "output"}) {
        CAPTURE(name);
        ui.click(std::string("steps.small.") + name);
        ui.feed({shell::MouseMove{ui.at(std::string("steps.") + name, 0.3F, 0.6F)}});
        check_panes(ui);
      }
    }
    state = State{};
    state.masks[model::BlockKind::EncoderSelf].rule.causal = true;
    for (const char* preset : {"notebook-004", "notebook-002", "notebook-003"}) {
      select_preset(state, preset);
      check_run(state);
    }
    select_preset(state, "");
    for (const std::string& text : {words(60), std::string("alone")}) {
      state.text() = text;
      check_run(state);
    }
    state.playground().settings.layers = 1;
    state.text() = words(400);
    check_run(state);
    state.text() = "Life is short";
    state.playground().key_text = "eat dessert first and then sleep until tomorrow noon";
    state.playground().cross = true;
    check_run(state);
  }
}

}  // namespace viewer_panes_test
