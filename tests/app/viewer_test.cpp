#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include <fmt/format.h>
#include <imgui.h>

#include "app/ui_driver.h"
#include "app/window/frame_guard.h"
#include "core/error.h"
#include "inference/notebooks.h"

namespace viewer_test {

using namespace headlight;
using namespace headlight::app;
using shell::kControl;
using shell::Key;

TEST_SUITE("gpu") {
  TEST_CASE("Ctrl+H lists the steps, and a click goes to one; a named one stays when something else is done in its place") {
    UiDriver ui;
    ui.press(Key::K);  // the head is knocked out …
    const State knocked_out = ui.state();
    const std::uint64_t step = ui.window().undo().shown_id();
    const std::string row = fmt::format("history.{}", step);
    CHECK_FALSE(ui.sees(row));
    ui.press(Key::H, kControl);
    CHECK(ui.sees(row));
    ui.click("history.name");
    ui.type("in vain");
    CHECK(ui.window().undo().shown_name() == "in vain");
    ui.press(Key::Escape);
    ui.wait(5.0);
    ui.press(Key::Z, kControl);
    CHECK(ui.state().gains.empty());
    ui.wait(5.0);
    ui.press(Key::C);  // … in vain: a mask instead
    const State masked = ui.state();
    for (const HistoryStep& one : ui.window().undo().history()) CHECK(ui.sees(fmt::format("history.{}", one.id)));
    ui.click(row);
    CHECK(ui.state() == knocked_out);
    CHECK(ui.window().undo().shown_name() == "in vain");
    CHECK(ui.sees(row));
    ui.press(Key::Z, kControl);
    CHECK(ui.state() == masked);
    ui.press(Key::H, kControl);
    CHECK_FALSE(ui.sees(row));
  }

  TEST_CASE("the window opens on a sentence with every head visible") {
    UiDriver ui;
    CHECK(ui.result().run != 0);
    CHECK(ui.result().error.empty());
    CHECK(ui.sees("head.map"));
    for (const char* chip : {"chips.query.0.0", "chips.query.0.5", "grid.encoder.0.0", "grid.encoder.1.7"}) {
      CHECK_MESSAGE(ui.sees(chip), chip);
    }
    CHECK_FALSE(ui.sees("chips.query.0.6"));
    CHECK(ui.result().has_all_tiles);
    const attention::Tile& tile = weights(ui);
    for (std::uint32_t row = 0; row < 6; ++row) {
      float sum = 0.0F;
      for (std::uint32_t column = 0; column < 6; ++column) sum += tile.at(row, column);
      CHECK(std::abs(sum - 1.0F) < 1e-5F);
    }
  }

  TEST_CASE("an idle window wants no frames") {
    UiDriver ui;
    CHECK(ui.window().redraw_after_s() == std::numeric_limits<double>::infinity());
    const std::uint64_t run = ui.result().run;
    const std::uint64_t uploads = ui.ui().heatmaps().uploads();
    ui.settle();
    CHECK(ui.result().run == run);
    CHECK(ui.ui().heatmaps().uploads() == uploads);
  }

  TEST_CASE("arrows and page keys move through heads, layers and lines, and stop at the ends") {
    UiDriver ui(with_text("one two three\nfour"));
    for (int i = 0; i < 9; ++i) ui.press(Key::Right);
    CHECK(ui.state().selection.head == 7);
    ui.press(Key::Left);
    CHECK(ui.state().selection.head == 6);
    ui.press(Key::Down);
    ui.press(Key::Down);
    CHECK(ui.state().selection.block.layer.value == 1);
    ui.press(Key::PageDown);
    CHECK(ui.state().selection.batch == 1);
    CHECK(weights(ui).request.columns == 1);  // "four" has no second token
    ui.press(Key::PageUp);
    CHECK(ui.state().selection.batch == 0);
    ui.click("grid.encoder.0.2");
    CHECK(ui.state().selection.head == 2);
    CHECK(ui.state().selection.block.layer.value == 0);
    ui.click("chips.query.1.0");
    CHECK(ui.state().selection.batch == 1);
    REQUIRE(ui.state().view.pinned.has_value());
    CHECK(ui.state().view.pinned->query == 0);
    ui.press(Key::Escape);  // closes the panel that has the chips
    ui.press(Key::Escape);
    CHECK_FALSE(ui.state().view.pinned.has_value());
  }

  TEST_CASE("a model that can't be says why beside its fields and leaves the last good map") {
    UiDriver ui;
    const std::uint64_t run = ui.result().run;
    ui.fill_in("model.heads", "7");
    CHECK(ui.state().playground().settings.heads == 7);
    CHECK(ui.result().is_stale);
    CHECK(ui.result().run == run);
    CHECK_FALSE(ui.result().error.empty());
    CHECK(ui.result().error.find('\n') == std::string::npos);
    CHECK(ui.sees("model.warning"));
    CHECK(ui.sees("stale.error"));
    CHECK_FALSE(ui.sees("status.remark"));  // it is said once
    CHECK(ui.sees("tabs.stale"));
    CHECK(ui.sees("head.map"));
    ui.press(Key::Z, kControl);
    CHECK(ui.state().playground().settings.heads == 8);
    CHECK_FALSE(ui.result().is_stale);
    CHECK_FALSE(ui.sees("model.warning"));
  }

  TEST_CASE("numbers are typed and stepped; half a number changes nothing") {
    UiDriver ui;
    ui.click("model.heads.more");
    CHECK(ui.state().playground().settings.heads == 16);  // the next one that divides d_model
    ui.click("model.heads.less");
    ui.click("model.heads.less");
    CHECK(ui.state().playground().settings.heads == 4);
    ui.fill_in("model.d_model", "32");
    CHECK(ui.state().playground().settings.d_model == 32);
    CHECK(ui.result().shapes.begin()->second.d_k == 8);
    ui.fill_in("model.d_model", "");
    CHECK(ui.state().playground().settings.d_model == 32);
    ui.fill_in("model.d_model", "x");
    CHECK(ui.state().playground().settings.d_model == 32);
    ui.fill_in("model.layers", "999999999999");
    CHECK(ui.state().playground().settings.layers == inference::kMaxLayers);
    ui.click("model.details");
    ui.fill_in("model.d_k", "5");
    CHECK(ui.result().shapes.begin()->second.d_k == 5);
    ui.fill_in("model.d_k", "");
    CHECK(ui.state().playground().settings.d_k == 0);
    const std::uint64_t seed = ui.state().playground().settings.seed;
    ui.click("model.seed.other");
    CHECK(ui.state().playground().settings.seed != seed);
    ui.click("model.scale.1");
    CHECK(ui.state().playground().settings.scale.kind == model::Scale::Kind::None);
    ui.click("model.bias");
    CHECK_FALSE(ui.state().playground().settings.bias);
  }

  TEST_CASE("selections survive undo though the run on screen is older") {
    UiDriver ui;
    for (int i = 0; i < 7; ++i) ui.press(Key::Right);
    ui.wait(2.0);
    ui.fill_in("model.heads", "4");
    CHECK(ui.state().selection.head == 3);
    ui.press(Key::Z, kControl);
    CHECK(ui.state().playground().settings.heads == 8);
    CHECK(ui.state().selection.head == 7);
  }

  TEST_CASE("a weight's held cell goes with a network that has no such cell") {
    State state;
    state.view.tab = "steps";
    UiDriver ui(state);
    for (const auto& [step, matrix] : {std::pair("q", "steps.w_q"), std::pair("output", "steps.w_o")}) {
      CAPTURE(matrix);
      ui.click(std::string("steps.small.") + step);
      ui.fill_in("model.d_model", "64");
      ui.click_within(matrix, 0.97F, 0.97F);
      ui.fill_in("model.d_model", "8");
      CHECK(ui.state().playground().settings.d_model == 8);
      CHECK(ui.sees(matrix));
      CHECK(ui.window().notice().text == "");
    }
  }

  TEST_CASE("a notebook from the menu, and back to the playground as it was left") {
    UiDriver ui;
    ui.press(Key::C);
    ui.click("menu.File");
    ui.move_to("menu.Presets");
    ui.click("menu.notebook-001");
    CHECK(notebook_name(ui.state().source) == "notebook-001");
    CHECK(ui.result().error.empty());
    CHECK(ui.sees("chips.source.0.0"));
    CHECK_FALSE(ui.sees("text.edit"));
    CHECK_FALSE(ui.sees("model.heads"));
    ui.click("model.back");
    CHECK_FALSE(is_notebook(ui.state().source));
    CHECK(ui.state().masks.by_kind[0].rule.causal);
    CHECK(ui.sees("text.edit"));
    ui.press(Key::Z, kControl);
    CHECK(notebook_name(ui.state().source) == "notebook-001");
  }

  TEST_CASE("every notebook is shown without an error") {
    for (const std::string_view name : inference::notebook_names()) {
      CAPTURE(name);
      State state;
      select_preset(state, std::string(name));
      UiDriver ui(state);
      CHECK(ui.result().error == "");
      CHECK(ui.sees("head.map"));
      ui.press(Key::Digit2);
      CHECK(ui.state().view.tab == "steps");
      CHECK_FALSE(ui.window().notice().is_shown());
    }
  }

  TEST_CASE("a presentation shows the view alone, in larger type, and gives the panels back") {
    UiDriver ui;
    const chart::Rect map = ui.rect("head.map");
    const float scale = ui.ui().scale();
    REQUIRE(ui.sees("text.edit"));
    const Settings before = ui.window().settings();
    ui.press(Key::F5);
    CHECK(ui.ui().scale() > 1.3F * scale);
    CHECK_FALSE(ui.sees("text.edit"));
    CHECK_FALSE(ui.sees("grid.encoder.0.0"));
    CHECK(ui.rect("head.map").size.y * ui.ui().scale() >= map.size.y * scale);
    ui.press(Key::Escape);
    CHECK(ui.sees("text.edit"));
    CHECK(ui.ui().scale() == scale);
    ui.press(Key::F5);
    ui.press(Key::B, kControl);  // the window is there again
    CHECK(ui.sees("text.edit"));
    CHECK(ui.window().settings().panes == before.panes);
    CHECK_FALSE(ui.window().undo().can_undo());
  }

  TEST_CASE("Escape leaves a presentation before it closes the welcome, which isn't on screen then") {
    UiDriver ui({}, open_reference_runner, {}, true);
    const float scale = ui.ui().scale();
    ui.press(Key::F5);
    REQUIRE(ui.ui().scale() > scale);
    ui.press(Key::Escape);
    CHECK(ui.ui().scale() == scale);
    CHECK(ui.window().settings().shows_welcome);
  }

  TEST_CASE("theme, tabs, scale and the list of shortcuts by key") {
    UiDriver ui;
    ui.press(Key::T);
    CHECK(ui.state().view.theme == Theme::Light);
    CHECK(ui.ui().theme().kind == shell::ThemeKind::Light);
    ui.press(Key::T);
    CHECK(ui.ui().theme().kind == shell::ThemeKind::HighContrast);
    ui.press(Key::T);
    CHECK(ui.ui().theme().kind == shell::ThemeKind::Dark);
    ui.press(Key::T);
    ui.press(Key::Digit2);
    CHECK(ui.state().view.tab == "steps");
    CHECK(ui.sees("steps.weights"));
    ui.press(Key::Digit1);
    CHECK(ui.sees("head.map"));
    ui.press(Key::Equal, kControl);
    CHECK(ui.state().view.ui_scale > 1.0F);
    CHECK(ui.ui().scale() == ui.state().view.ui_scale);
    ui.press(Key::Digit0, kControl);
    CHECK(ui.ui().scale() == 1.0F);
    ui.press(Key::F1);
    ui.press(Key::C);  // a dialog is open: not for the mask
    CHECK_FALSE(ui.state().masks.by_kind[0].rule.causal);
    ui.press(Key::Escape);
    ui.press(Key::C);
    CHECK(ui.state().masks.by_kind[0].rule.causal);
    ui.press(Key::Q, kControl);
    CHECK(ui.window().wants_to_quit());
  }

  TEST_CASE("the window works at any size and scale") {
    UiDriver ui(with_text("one two three four\nfive"));
    for (const auto& window : {std::tuple{1024U, 640U, 1.0F},
                               {2560U, 1440U, 2.0F},
                               {1600U, 1000U, 4.0F},
                               {1600U, 1000U, 0.5F},
                               {320U, 240U, 1.0F},
                               {64U, 48U, 1.0F},
                               {1U, 1U, 1.0F}}) {
      const auto& width = std::get<0>(window);
      const auto& height = std::get<1>(window);
      const auto& scale = std::get<2>(window);
      CAPTURE(width);
      CAPTURE(scale);
      ui.resize(width, height, scale);
      ui.press(Key::Digit2);
      ui.press(Key::Digit1);
      CHECK_FALSE(ui.window().notice().is_shown());
    }
    ui.resize(1600, 1000);
    CHECK(ui.sees("head.map"));
  }

  TEST_CASE("without a device the window opens and says so") {
    UiDriver ui({},
                [](const std::string&) -> std::unique_ptr<Runner> { throw Error("no Vulkan device; install a driver"); });
    CHECK(ui.result().run == 0);
    CHECK(ui.sees("empty.error"));
    ui.fill_in("text.edit", "still here");
    CHECK(ui.state().text() == "still here");
  }

  TEST_CASE("a remembered device that is gone is replaced, and the window says so") {
    const RunnerFactory open = [](const std::string& device) -> std::unique_ptr<Runner> {
      if (device == "gone") throw Error("there is no device called gone.");
      return std::make_unique<ReferenceRunner>();
    };
    UiDriver ui({}, open, "gone");
    CHECK(ui.result().run != 0);
    CHECK(ui.result().error.empty());
    CHECK(ui.window().notice().is_warning);
    CHECK(ui.window().settings().device.empty());
    CHECK(ui.sees("head.map"));
  }

  TEST_CASE("the selected head is checked against double precision, and another one after it") {
    UiDriver ui;
    const auto choose = [&] {
      ui.press(Key::P, shell::kControl);
      ui.type("check the head against");
      ui.press(Key::Enter);
    };
    CHECK_FALSE(ui.sees("status.verified"));
    const State before = ui.state();
    choose();
    CHECK(ui.sees("status.verified"));
    ui.press(Key::Right);
    CHECK(ui.state().selection != before.selection);
    CHECK(ui.sees("status.verified"));
    CHECK(ui.window().settings().verifies_head);
    choose();
    CHECK_FALSE(ui.sees("status.verified"));
  }

  TEST_CASE("splitters are remembered") {
    UiDriver ui;
    ui.press(Key::F4);
    const chart::Rect grid = ui.rect("splitter.grid");
    const chart::Rect sidebar = ui.rect("splitter.sidebar");
    ui.ui().feed(shell::drag({sidebar.origin.x + 4.0F, 400.0F}, {450.0F, 400.0F}));
    ui.settle();
    CHECK(ui.window().settings().panes.sidebar == 450.0F);
    ui.ui().feed(shell::drag({grid.origin.x + 4.0F, 400.0F}, {1200.0F, 400.0F}));
    ui.settle();
    CHECK(ui.window().settings().panes.grid == 400.0F);
  }

  TEST_CASE("a splitter's double click gives the panel the width that the window chooses; a click alone changes nothing") {
    UiDriver ui;
    ui.press(Key::F4);
    for (const char* name : {"splitter.sidebar", "splitter.grid"}) {
      CAPTURE(name);
      const float from = ui.rect(name).center().x;
      ui.feed(shell::drag({from, 400.0F}, {from + 60.0F, 400.0F}));
      CHECK(ui.rect(name).center().x == from + 60.0F);
      ui.wait(1.0);
      ui.feed(shell::click_at({from + 62.0F, 400.0F}));
      CHECK(ui.rect(name).center().x == from + 60.0F);
      ui.wait(1.0);
      ui.feed(shell::click_at({from + 60.0F, 400.0F}));
      ui.feed(shell::click_at({from + 60.0F, 400.0F}));
      CHECK(ui.rect(name).center().x == from);
    }
    CHECK(ui.window().settings().panes.sidebar == 0.0F);
    CHECK(ui.window().settings().panes.grid == 0.0F);
  }

  TEST_CASE("the window computes on Vulkan what the reference computes") {
    State state = with_text("one two three four five\nsix seven");
    state.masks.by_kind[0].rule.causal = true;
    const attention::Tile expected = [&] {
      const UiDriver reference(state);
      return weights(reference);
    }();
    UiDriver vulkan(state, open_gpu_runner);
    REQUIRE(vulkan.result().error == "");
    const attention::Tile& found = weights(vulkan);
    REQUIRE(found.values.size() == expected.values.size());
    for (std::size_t i = 0; i < found.values.size(); ++i) {
      CHECK(std::abs(found.values[i] - expected.values[i]) < 2e-6F);
      CHECK(found.masked[i] == expected.masked[i]);
    }
    CHECK(vulkan.result().timing.gpu_ms > 0.0);
  }

  TEST_CASE("a panel that throws half-way costs its own drawing only") {
    shell::RenderDevice device({.device = {}, .validation = true});
    shell::Ui ui(device);
    for (int frame = 0; frame < 3; ++frame) {
      ui.begin_frame({200, 100}, 1.0F, 0.01);
      // The window begins as panes do, with more on the stack of styles than it goes on with.
      for (int i = 0; i < 4; ++i) ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0.0F, 0.0F));
      ImGui::Begin("pane");
      ImGui::PopStyleVar(4);
      const std::optional<std::string> trouble = draw_guarded([] {
        ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(1.0F, 1.0F));
        ImGui::PushFont(ImGui::GetFont());
        ImGui::BeginChild("child");
        ImGui::BeginTable("table", 2);
        ImGui::PushStyleColor(ImGuiCol_Text, 0xFFFFFFFFU);
        ImGui::PushID("id");
        throw Error("a span of the wrong size");
      });
      CHECK(trouble == "a span of the wrong size");
      CHECK_FALSE(draw_guarded([] { ImGui::TextUnformatted("the next one draws"); }).has_value());
      ImGui::End();
      ui.end_frame();
    }
    CHECK(device.validation_message_count() == 0);
  }
}

}  // namespace viewer_test
