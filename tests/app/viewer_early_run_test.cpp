// The window's contents before all of a model's layers are on the device.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>

#include "app/text_on_screen.h"
#include "app/ui_driver.h"
#include "engine/fake_runner.h"

namespace viewer_early_run_test {

using namespace headlight;
using namespace headlight::app;
using shell::Key;

TEST_SUITE("gpu") {
  TEST_CASE("the first layers of a model are looked at while the others are being loaded") {
    const auto log = std::make_shared<FakeLog>();
    State typed;
    typed.text() = "the cat";
    UiDriver ui(typed, fake_factory(log));
    const State before = ui.state();
    log->shows_first_layers = true;
    log->is_load_held = true;
    ui.window().open_model(kGoldenModels + "gpt2");
    const auto shows = [&](LayerIndex layer) {
      return std::ranges::any_of(ui.result().tiles, [&](const auto& tile) { return tile.first.block.layer == layer; });
    };
    REQUIRE(ui.frames_until([&] { return ui.result().first_layers == 1 && shows(LayerIndex{0}); }));
    REQUIRE(ui.frames_until([&] { return !ui.sees("loading.cancel"); }));
    CHECK(ui.window().load_progress());
    CHECK_FALSE(shows(LayerIndex{1}));
    CHECK(ui.sees("head.map"));
    CHECK(text_on_screen(ui.rect("chip.model")).find("gpt2") != std::string::npos);
    CHECK(ui.state().gains.empty());
    // A view that needs the whole network says that the network is being loaded.
    ui.ui().feed(shell::tap(Key::Digit3));
    REQUIRE(ui.frames_until([&] { return ui.sees("loading.cancel"); }));
    ui.ui().feed(shell::tap(Key::Digit1));
    REQUIRE(ui.frames_until([&] { return !ui.sees("loading.cancel"); }));
    SUBCASE("until they are there") {
      log->is_load_held = false;
      ui.settle();
      CHECK(ui.result().first_layers == 0);
      CHECK(ui.result().error == "");
      CHECK(shows(LayerIndex{1}));
      CHECK(is_model(ui.state().source));
    }
    SUBCASE("or given up with Esc") {
      ui.ui().feed(shell::tap(Key::Escape));
      REQUIRE(ui.frames_until([&] { return !is_model(ui.state().source); }));
      log->is_load_held = false;
      log->shows_first_layers = false;
      ui.settle();
      CHECK(ui.state() == before);
      CHECK(ui.window().notice().text == "Loading was cancelled");
      CHECK(ui.result().error == "");
      CHECK(ui.result().first_layers == 0);
    }
  }
}

}  // namespace viewer_early_run_test
