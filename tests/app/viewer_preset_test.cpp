// A notebook that is changed in the window: by a pasted matrix, by its recipe, and back.
#include <doctest/doctest.h>

#include <string>

#include "app/state/model_changes.h"
#include "app/ui_driver.h"

namespace viewer_preset_test {

using namespace headlight;
using namespace headlight::app;
using shell::kControl;
using shell::Key;

namespace {

State notebook_state(const std::string& name) {
  State state;
  select_preset(state, name);
  return state;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("a notebook's matrix is typed, refused, pasted and taken back") {
    UiDriver ui(notebook_state("notebook-003"));
    ui.resize(1280, 1600);
    CHECK_FALSE(ui.sees("model.own_numbers"));
    ui.click("model.edit");
    REQUIRE(ui.sees("preset.numbers"));
    CHECK_FALSE(ui.sees("preset.sentence"));
    ui.fill_in("preset.numbers", "[[1, 2, 3, 4]]");  // of Q, which is 6 by 4
    CHECK(notebook_edits(ui.state().source).is_empty());
    ui.fill_in("preset.numbers", "tensor([[0,0,0,0],[0,0,0,0],[0,0,0,0],[0,0,0,0],[0,0,0,0],[0,0,0,0]])");
    ui.settle();
    CHECK(model_changes(ui.state()) == "Q pasted");
    CHECK(ui.window().result().input->qkv->query.values[5] == 0.0F);
    ui.click("model.own_numbers");
    ui.settle();
    CHECK(model_changes(ui.state()).empty());
    CHECK(ui.window().result().input->qkv->query.values[5] != 0.0F);
    ui.press(Key::Z, kControl);
    CHECK(model_changes(ui.state()) == "Q pasted");
  }

  TEST_CASE("a notebook's sentence and sizes are those of its recipe") {
    UiDriver ui(notebook_state("notebook-004-heads"));
    ui.resize(1280, 1600);
    ui.click("model.edit");
    ui.fill_in("preset.sentence", "the cat sat");
    ui.fill_in("model.heads", "2");
    ui.fill_in("model.seed", "7");
    ui.settle();
    CHECK(model_changes(ui.state()) == "sentence typed \u00B7 2 heads \u00B7 seed 7");
    CHECK(ui.window().result().input->source.length == 3);
    CHECK(ui.window().result().network->layers->encoder[0].config.heads == 2);
    ui.fill_in("preset.sentence", "");  // no word: what is on screen stays, and the panel says why
    ui.settle();
    CHECK(ui.window().result().input->source.length == 3);
    CHECK_FALSE(ui.window().result().error.empty());
    ui.click("model.own_numbers");
    ui.settle();
    CHECK(ui.window().result().input->source.length == 8);
  }

  TEST_CASE("a lesson's printed numbers are not compared with a changed notebook's") {
    UiDriver ui;
    ui.resize(1600, 2400);
    ui.press(Key::F4);
    ui.click("lesson.start.5-notebook-003");
    ui.settle();
    CHECK_FALSE(ui.sees("lesson.numbers.changed"));
    ui.click("model.edit");
    ui.fill_in("preset.numbers", "tensor([[0,0,0,0],[0,0,0,0],[0,0,0,0],[0,0,0,0],[0,0,0,0],[0,0,0,0]])");
    ui.settle();
    CHECK(ui.sees("lesson.numbers.changed"));
    CHECK_FALSE(ui.sees("lesson.numbers.agree"));
    CHECK_FALSE(ui.sees("lesson.numbers.differ"));
    ui.click("model.own_numbers");
    ui.settle();
    CHECK_FALSE(ui.sees("lesson.numbers.changed"));
  }

  TEST_CASE("the PyTorch program of what is on screen goes to the clipboard") {
    UiDriver ui(notebook_state("notebook-001"));
    ui.resize(1280, 1600);
    ui.click("model.edit");
    ui.click("model.copy_torch");
    ui.settle();
    CHECK(ui.window().notice().text == "A PyTorch program that prints these numbers is on the clipboard.");
  }
}

}  // namespace viewer_preset_test
