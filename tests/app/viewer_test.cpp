#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include <imgui.h>

#include "app/hand.h"
#include "app/window/frame_guard.h"
#include "core/error.h"
#include "inference/notebooks.h"

using namespace headlight;
using namespace headlight::app;
using shell::kControl;
using shell::kControlShift;
using shell::Key;

TEST_SUITE("gpu") {
  TEST_CASE("the window opens on a sentence with every head in sight") {
    Hand hand;
    CHECK(hand.result().run != 0);
    CHECK(hand.result().error.empty());
    CHECK(hand.sees("head.map"));
    for (const char* chip : {"chips.query.0.0", "chips.query.0.5", "grid.encoder.0.0", "grid.encoder.1.7"}) {
      CHECK_MESSAGE(hand.sees(chip), chip);
    }
    CHECK_FALSE(hand.sees("chips.query.0.6"));
    CHECK(hand.result().has_all_tiles);
    const attention::Tile& tile = weights(hand);
    for (std::uint32_t row = 0; row < 6; ++row) {
      float sum = 0.0F;
      for (std::uint32_t column = 0; column < 6; ++column) sum += tile.at(row, column);
      CHECK(std::abs(sum - 1.0F) < 1e-5F);
    }
  }

  TEST_CASE("an idle window wants no frames") {
    Hand hand;
    CHECK(hand.window().redraw_after_s() == std::numeric_limits<double>::infinity());
    const std::uint64_t run = hand.result().run;
    const std::uint64_t uploads = hand.ui().heatmaps().uploads();
    hand.settle();
    CHECK(hand.result().run == run);
    CHECK(hand.ui().heatmaps().uploads() == uploads);
  }

  TEST_CASE("arrows and page keys move through heads, layers and lines, and stop at the ends") {
    State state;
    state.text = "one two three\nfour";
    Hand hand(state);
    for (int i = 0; i < 9; ++i) hand.press(Key::Right);
    CHECK(hand.state().selection.head == 7);
    hand.press(Key::Left);
    CHECK(hand.state().selection.head == 6);
    hand.press(Key::Down);
    hand.press(Key::Down);
    CHECK(hand.state().selection.block.layer.value == 1);
    hand.press(Key::PageDown);
    CHECK(hand.state().selection.batch == 1);
    CHECK(weights(hand).is_masked(0, 1));  // "four" has no second token
    hand.press(Key::PageUp);
    CHECK(hand.state().selection.batch == 0);
    hand.click("grid.encoder.0.2");
    CHECK(hand.state().selection.head == 2);
    CHECK(hand.state().selection.block.layer.value == 0);
    hand.click("chips.query.1.0");
    CHECK(hand.state().selection.batch == 1);
    REQUIRE(hand.state().view.pinned.has_value());
    CHECK(hand.state().view.pinned->query == 0);
    hand.press(Key::Escape);
    CHECK_FALSE(hand.state().view.pinned.has_value());
  }

  TEST_CASE("a model that can't be says why beside its fields and leaves the last good map") {
    Hand hand;
    const std::uint64_t run = hand.result().run;
    hand.fill_in("model.heads", "7");
    CHECK(hand.state().playground.heads == 7);
    CHECK(hand.result().is_stale);
    CHECK(hand.result().run == run);
    CHECK_FALSE(hand.result().error.empty());
    CHECK(hand.result().error.find('\n') == std::string::npos);
    CHECK(hand.sees("model.warning"));
    CHECK(hand.sees("status.remark"));
    CHECK(hand.sees("tabs.stale"));
    CHECK(hand.sees("head.map"));
    hand.press(Key::Z, kControl);
    CHECK(hand.state().playground.heads == 8);
    CHECK_FALSE(hand.result().is_stale);
    CHECK_FALSE(hand.sees("model.warning"));
  }

  TEST_CASE("numbers are typed and stepped; half a number changes nothing") {
    Hand hand;
    hand.click("model.heads.more");
    CHECK(hand.state().playground.heads == 16);  // the next one that divides d_model
    hand.click("model.heads.less");
    hand.click("model.heads.less");
    CHECK(hand.state().playground.heads == 4);
    hand.fill_in("model.d_model", "32");
    CHECK(hand.state().playground.d_model == 32);
    CHECK(hand.result().shapes.begin()->second.d_k == 8);
    hand.fill_in("model.d_model", "");
    CHECK(hand.state().playground.d_model == 32);
    hand.fill_in("model.d_model", "x");
    CHECK(hand.state().playground.d_model == 32);
    hand.fill_in("model.layers", "999999999999");
    CHECK(hand.state().playground.layers == inference::kMaxLayers);
    hand.fill_in("model.d_k", "5");
    CHECK(hand.result().shapes.begin()->second.d_k == 5);
    hand.fill_in("model.d_k", "");
    CHECK(hand.state().playground.d_k == 0);
    const std::uint64_t seed = hand.state().playground.seed;
    hand.click("model.seed.other");
    CHECK(hand.state().playground.seed != seed);
    hand.click("model.scale.1");
    CHECK(hand.state().playground.scale.kind == model::Scale::Kind::None);
    hand.click("model.bias");
    CHECK_FALSE(hand.state().playground.bias);
  }

  TEST_CASE("selections survive undo though the run on screen is older") {
    Hand hand;
    for (int i = 0; i < 7; ++i) hand.press(Key::Right);
    hand.wait(2.0);
    hand.fill_in("model.heads", "4");
    CHECK(hand.state().selection.head == 3);
    hand.press(Key::Z, kControl);
    CHECK(hand.state().playground.heads == 8);
    CHECK(hand.state().selection.head == 7);
  }

  TEST_CASE("a notebook from the menu, and back to the playground as it was left") {
    Hand hand;
    hand.press(Key::C);
    hand.click("menu.Presets");
    hand.click("menu.notebook-001");
    CHECK(hand.state().preset == "notebook-001");
    CHECK(hand.result().error.empty());
    CHECK(hand.sees("chips.source.0.0"));
    CHECK_FALSE(hand.sees("text.edit"));
    CHECK_FALSE(hand.sees("model.heads"));
    hand.click("model.back");
    CHECK(hand.state().preset.empty());
    CHECK(hand.state().masks.by_kind[0].rule.causal);
    CHECK(hand.sees("text.edit"));
    hand.press(Key::Z, kControl);
    CHECK(hand.state().preset == "notebook-001");
  }

  TEST_CASE("every notebook is shown without an error") {
    for (const std::string_view name : inference::notebook_names()) {
      CAPTURE(name);
      State state;
      select_preset(state, std::string(name));
      Hand hand(state);
      CHECK(hand.result().error == "");
      CHECK(hand.sees("head.map"));
      hand.press(Key::Digit2);
      CHECK(hand.state().view.tab == Tab::Steps);
      CHECK_FALSE(hand.window().notice().is_shown());
    }
  }

  TEST_CASE("theme, tabs, scale and the list of shortcuts by key") {
    Hand hand;
    hand.press(Key::T);
    CHECK(hand.state().view.theme == Theme::Light);
    CHECK(hand.ui().theme().kind == shell::ThemeKind::Light);
    hand.press(Key::Digit2);
    CHECK(hand.state().view.tab == Tab::Steps);
    CHECK(hand.sees("steps.weights"));
    hand.press(Key::Digit1);
    CHECK(hand.sees("head.map"));
    hand.press(Key::Equal, kControl);
    CHECK(hand.state().view.ui_scale > 1.0F);
    CHECK(hand.ui().scale() == hand.state().view.ui_scale);
    hand.press(Key::Digit0, kControl);
    CHECK(hand.ui().scale() == 1.0F);
    hand.press(Key::F1);
    hand.press(Key::C);  // a dialog is open: not for the mask
    CHECK_FALSE(hand.state().masks.by_kind[0].rule.causal);
    hand.press(Key::Escape);
    hand.press(Key::C);
    CHECK(hand.state().masks.by_kind[0].rule.causal);
    hand.press(Key::Q, kControl);
    CHECK(hand.window().wants_to_quit());
  }

  TEST_CASE("the window works at any size and scale") {
    State state;
    state.text = "one two three four\nfive";
    Hand hand(state);
    for (const auto& [width, height, scale] : {std::tuple{1024U, 640U, 1.0F},
                                               {2560U, 1440U, 2.0F},
                                               {1600U, 1000U, 4.0F},
                                               {1600U, 1000U, 0.5F},
                                               {320U, 240U, 1.0F},
                                               {64U, 48U, 1.0F},
                                               {1U, 1U, 1.0F}}) {
      CAPTURE(width);
      CAPTURE(scale);
      hand.resize(width, height, scale);
      hand.press(Key::Digit2);
      hand.press(Key::Digit1);
      CHECK_FALSE(hand.window().notice().is_shown());
    }
    hand.resize(1600, 1000);
    CHECK(hand.sees("head.map"));
  }

  TEST_CASE("without a device the window opens and says so") {
    Hand hand({}, [](const std::string&) -> std::unique_ptr<Runner> { throw Error("no Vulkan device; install a driver"); });
    CHECK(hand.result().run == 0);
    CHECK(hand.sees("empty.error"));
    hand.fill_in("text.edit", "still here");
    CHECK(hand.state().text == "still here");
  }

  TEST_CASE("a remembered device that is gone is replaced, and the window says so") {
    const RunnerFactory open = [](const std::string& device) -> std::unique_ptr<Runner> {
      if (device == "gone") throw Error("there is no device called gone.");
      return std::make_unique<ReferenceRunner>();
    };
    Hand hand({}, open, "gone");
    CHECK(hand.result().run != 0);
    CHECK(hand.result().error.empty());
    CHECK(hand.window().notice().is_warning);
    CHECK(hand.window().settings().device.empty());
    CHECK(hand.sees("head.map"));
  }

  TEST_CASE("splitters and folded sections are remembered") {
    Hand hand;
    const shell::UiRect grid = hand.rect("splitter.grid");
    const shell::UiRect sidebar = hand.rect("splitter.sidebar");
    hand.ui().feed(shell::drag(sidebar.x + 4.0F, 400.0F, 450.0F, 400.0F));
    hand.settle();
    CHECK(hand.window().settings().panes.sidebar == 450.0F);
    hand.ui().feed(shell::drag(grid.x + 4.0F, 400.0F, 1200.0F, 400.0F));
    hand.settle();
    CHECK(hand.window().settings().panes.grid == 400.0F);
    CHECK(hand.sees("model.heads"));
    hand.click("section.model");
    CHECK_FALSE(hand.sees("model.heads"));
    CHECK_FALSE(hand.window().settings().panes.is_model_open);
  }

  TEST_CASE("the window computes on Vulkan what the reference computes") {
    State state;
    state.text = "one two three four five\nsix seven";
    state.masks.by_kind[0].rule.causal = true;
    const attention::Tile expected = [&] {
      const Hand reference(state);
      return weights(reference);
    }();
    Hand vulkan(state, open_gpu_runner);
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
      ui.begin_frame({.width = 200, .height = 100}, 1.0F, 0.01);
      ImGui::Begin("pane");
      const std::optional<std::string> trouble = draw_guarded([] {
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
