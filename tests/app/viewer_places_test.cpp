// Where controls are: nothing that the window had at its left side is out of reach, and the view has most of the window.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "app/commands/command_list.h"
#include "app/models/starter_view.h"
#include "app/state/comparison.h"
#include "app/ui_driver.h"

namespace viewer_places_test {

using namespace headlight;
using namespace headlight::app;
using shell::Key;

namespace {

const char* const kText = "A man in a red shirt rides a horse. A man in a red shirt rides a";

State of_captions() {
  State state;
  change_to_model(state, find_bundled_model("captions-gpt2")->string());
  state.text() = kText;
  return state;
}

void check_all(UiDriver& ui, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    CAPTURE(name);
    CHECK(ui.sees(name));
  }
}

const std::vector<std::string> kOfEveryMask = {"mask.causal",        "mask.padding", "mask.window",  "mask.prefix",
                                               "mask.fill.0",        "mask.fill.2",  "mask.dropout", "mask.brush",
                                               "mask.paint_reach.0", "mask.reset",   "chip.mask"};

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("no command that there was is gone: HEADLIGHT_UPDATE_GOLDEN writes those that there are") {
    const std::filesystem::path path = std::filesystem::path(HEADLIGHT_GOLDEN_DIR) / "commands.txt";
    if (std::getenv("HEADLIGHT_UPDATE_GOLDEN") != nullptr) {
      std::ofstream file(path);
      for (const Command& command : commands()) file << command.id << '\n';
    }
    std::ifstream file(path);
    std::size_t count = 0;
    for (std::string id; std::getline(file, id); ++count) {
      CAPTURE(id);
      CHECK(std::ranges::find(commands(), id, &Command::id) != commands().end());
    }
    CHECK(count > 200);
  }
}

TEST_SUITE("gpu") {
  TEST_CASE("every control of the playground's text, model, mask and comparison is reached") {
    UiDriver ui(with_text("one two three"));
    check_all(ui, kOfEveryMask);
    check_all(ui, {"text.edit", "text.examples", "text.cross", "chips.query.0.0", "model.d_model", "model.heads",
                   "model.heads.more", "model.layers", "model.seed", "model.details", "model.open", "compare.freeze",
                   "text.second.open"});
    ui.click("model.details");
    check_all(ui, {"model.d_k", "model.d_v", "model.scale.0", "model.merge", "model.bias", "model.output_projection",
                   "model.positions"});
    ui.click("text.cross");
    ui.fill_in("text.key_edit", "a b c");
    check_all(ui, {"chips.key.0.0"});
  }

  TEST_CASE("every control of a model's text, model, mask and comparison is reached") {
    UiDriver ui(of_captions(), open_gpu_runner);
    check_all(ui, kOfEveryMask);
    check_all(ui, {"text.edit", "text.examples", "text.to_ids", "text.special", "chips.source.0.3", "next.0", "model.name",
                   "model.details", "model.open", "model.close", "compare.freeze", "text.second.open", "chip.lessons"});
    ui.click("model.details");
    check_all(ui, {"model.precision.0", "model.precision.1", "model.stretch"});
    ui.click("mask.brush");
    check_all(ui, {"mask.brush_ink.0", "mask.brush_shape.0", "chip.brush"});
    ui.click("chip.brush");
    CHECK_FALSE(ui.window().is_painting());
    ui.press(Key::D, shell::kControl);
    ui.wait(5.0);
    ui.paint_cell(3, 1);
    check_all(ui, {"compare.difference", "compare.freeze", "compare.return", "compare.stop", "compare.head.0",
                   "compare.cell.0", "chip.compare.off", "change.0.off", "change.all"});
    check_tips(ui);
    ui.click("text.to_ids");
    check_all(ui, {"text.ids", "text.from_text"});
  }

  TEST_CASE("an edited notebook's controls are reached") {
    State state;
    select_preset(state, "notebook-001");
    UiDriver ui(state);
    check_all(ui, {"chips.source.0.0", "model.edit", "model.back", "model.details", "mask.causal"});
    ui.click("model.edit");
    check_all(ui, {"preset.numbers", "model.matrix", "model.copy_torch"});
  }

  TEST_CASE("a translator's controls are reached") {
    State translator;
    change_to_model(translator, find_bundled_model("multi30k-de-en")->string());
    translator.text() = "Ein Mann reitet ein Pferd.";
    UiDriver ui(translator, open_gpu_runner);
    check_all(ui, {"text.edit", "text.target", "text.write", "chips.source.0.1", "chips.target.0.1", "text.special"});
  }

  TEST_CASE("a change is taken back by its chip alone, all of them by one, and where there are many they are a list") {
    UiDriver ui(of_captions(), open_gpu_runner);
    const State before = ui.state();
    ui.press(Key::K);
    ui.press(Key::C);
    ui.click_within("mask.window", 0.5F, 0.5F);
    REQUIRE(ui.sees("change.2.off"));
    ui.click("change.0.off");
    CHECK(ui.state().gains.empty());
    CHECK(ui.state().masks != before.masks);
    ui.click("change.0.off");
    CHECK(ui.state().masks.by_kind[0].rule.causal == before.masks.by_kind[0].rule.causal);
    CHECK(ui.state().masks != before.masks);
    ui.press(Key::K);
    ui.click("change.all");
    CHECK(ui.state().masks == before.masks);
    CHECK(ui.state().gains.empty());
    CHECK_FALSE(ui.sees("change.all"));
    ui.resize(640, 500);
    ui.press(Key::K);
    ui.press(Key::C);
    ui.press(Key::P);
    REQUIRE(ui.sees("chip.changes"));
    ui.click("chip.changes");
    ui.click("change.1.off");
    CHECK(ui.state().masks.by_kind[0].rule.causal == before.masks.by_kind[0].rule.causal);
  }

  TEST_CASE("a chip's panel stays while it is used, and goes by Esc, by its chip and by a click that does something else") {
    UiDriver ui(of_captions(), open_gpu_runner);
    ui.click("chip.mask");
    REQUIRE(ui.sees("chip.panel"));
    ui.click("mask.fill.1");
    CHECK(ui.sees("chip.panel"));
    ui.press(Key::Escape);
    CHECK_FALSE(ui.sees("chip.panel"));
    ui.click("chip.mask");
    ui.click("chip.mask");
    CHECK_FALSE(ui.sees("chip.panel"));
    ui.click("chip.model");
    ui.click("grid.encoder.2.3");
    CHECK_FALSE(ui.sees("chip.panel"));
    CHECK(ui.state().selection.block.layer.value == 2);
    ui.feed({shell::MouseMove{ui.rect("mask.causal").center()}});
    ui.feed(shell::click_at(ui.rect("mask.causal").center(), shell::MouseButton::Right));
    CHECK(ui.sees("chip.panel.mask"));
  }

  TEST_CASE("a panel is kept at the left, beside the view, which gets the room back when it is closed") {
    UiDriver ui(of_captions(), open_gpu_runner);
    const float wide = ui.window().center().size.x;
    ui.click("chip.mask");
    ui.click("chip.dock");
    CHECK_FALSE(ui.sees("chip.panel"));
    CHECK(ui.window().center().size.x < wide);
    ui.click("mask.fill.1");
    ui.click_cell(3, 1);
    CHECK(ui.rect("mask.fill.1").end().x < ui.window().center().origin.x);
    check_tips(ui);
    ui.click("chip.undock");
    CHECK(ui.window().center().size.x == wide);
  }

  TEST_CASE("the view has most of the window, and the text's line grows to four lines") {
    UiDriver ui(of_captions(), open_gpu_runner);
    const auto share = [&](std::uint32_t width, std::uint32_t height) {
      ui.resize(width, height);
      const chart::Rect center = ui.window().center();
      return center.size.x * center.size.y / static_cast<float>(width * height);
    };
    CHECK(share(1280, 800) >= 0.60F);
    CHECK(share(2560, 1440) >= 0.70F);
    const float one = ui.rect("text.edit").size.y;
    std::string much;
    for (int i = 0; i < 40; ++i) much += "A man in a red shirt rides a horse. ";
    ui.fill_in("text.edit", much);
    CHECK(ui.rect("text.edit").size.y > 2.5F * one);  // which has its padding once: 96 and 33
    CHECK(ui.rect("text.edit").size.y < 3.5F * one);
    for (const auto& size : {glm::uvec2(640, 500), glm::uvec2(1024, 640), glm::uvec2(1280, 800), glm::uvec2(1600, 1000)}) {
      ui.resize(size.x, size.y);
      CAPTURE(size.x);
      for (const char* name : {"chip.model", "mask.causal", "mask.padding", "chip.mask", "chip.compare", "chip.lessons"}) {
        CAPTURE(name);
        const chart::Rect chip = ui.rect(name);
        CHECK(chip.origin.x >= 0.0F);
        CHECK(chip.end().x <= static_cast<float>(size.x));
        CHECK(chip.end().y <= ui.window().center().origin.y);
      }
    }
  }
}

}  // namespace viewer_places_test
