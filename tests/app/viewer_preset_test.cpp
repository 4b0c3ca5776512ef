// A notebook that is changed in the window: by a pasted matrix, by its recipe, and back.
#include <doctest/doctest.h>

#include <string>

#include "app/state/model_changes.h"
#include "app/ui_driver.h"
#include "core/file.h"
#include "support/temporary_directory.h"

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

/// Opens the field over a cell of a matrix of Steps, of `rows` by `columns`. `step`: that has it.
void open_cell(UiDriver& ui, const std::string& step, const std::string& matrix, glm::uvec2 cell, glm::uvec2 size) {
  const glm::vec2 at = (glm::vec2(cell) + 0.5F) / glm::vec2(size);
  ui.click("steps.small." + step);
  ui.wait(2.0);
  ui.click_within("steps." + matrix, at.x, at.y);
  ui.click_within("steps." + matrix, at.x, at.y);
  REQUIRE(ui.sees("steps.typed"));
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("a notebook's matrix is typed, refused, pasted and taken back") {
    UiDriver ui(notebook_state("notebook-003"));
    ui.resize(1280, 1600);
    CHECK_FALSE(ui.sees("model.own_numbers"));
    ui.click("model.edit");
    REQUIRE(ui.sees("preset.numbers"));
    CHECK(ui.sees("preset.sentence"));               // its words are the tokens of other sizes
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
    const TemporaryDirectory folder;
    const std::string path = (folder.path() / "mine.json").string();
    write_file_atomically(path, R"({"headlight_lesson": 1, "title": "T", "summary": "S", "minutes": 1, "cards": [
      {"title": "One", "text": ["a"], "opens": {"preset": "notebook-003"}, "numbers":
       {"source": "s", "quantity": "weights", "row": 1, "values": [[0.39, 0.61]], "decimals": 2}}]})");
    UiDriver ui;
    ui.resize(1600, 2400);
    ui.window().open_files({path});
    ui.settle();
    REQUIRE(ui.sees("lesson.numbers.agree"));
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
    CHECK(ui.sees("lesson.numbers.agree"));
  }

  TEST_CASE("a cell of a notebook's matrix is typed in Steps: a double click, Enter, Esc, undo") {
    State state = notebook_state("notebook-003");
    state.view.tab = "steps";
    UiDriver ui(state);
    ui.resize(1600, 1800);
    open_cell(ui, "v", "v", {1, 2}, {4, 6});
    ui.press(Key::A, kControl);
    ui.type("7.5");
    ui.press(Key::Enter);
    ui.settle();
    CHECK_FALSE(ui.sees("steps.typed"));
    CHECK(model_changes(ui.state()) == "V[2,1] typed");
    CHECK(ui.result().input->qkv->value.values[9] == 7.5F);
    open_cell(ui, "v", "v", {0, 0}, {4, 6});
    ui.press(Key::A, kControl);
    ui.type("3");
    ui.press(Key::Escape);
    ui.settle();
    CHECK_FALSE(ui.sees("steps.typed"));
    CHECK(model_changes(ui.state()) == "V[2,1] typed");
    // A text that is no number is refused, and stays to be mended.
    open_cell(ui, "q", "q", {3, 5}, {4, 6});
    ui.press(Key::A, kControl);
    ui.type("x");
    ui.press(Key::Enter);
    ui.settle();
    CHECK(ui.sees("steps.typed"));
    ui.press(Key::A, kControl);
    ui.type("-1");
    ui.press(Key::Enter);
    ui.settle();
    CHECK(model_changes(ui.state()) == "Q[5,3] typed \u00B7 V[2,1] typed");
    ui.press(Key::Z, kControl);
    CHECK(model_changes(ui.state()) == "V[2,1] typed");
    ui.press(Key::Z, kControl);
    CHECK(model_changes(ui.state()).empty());
    // A computed matrix has no field.
    ui.click("steps.small.scores");
    ui.wait(2.0);
    ui.click("steps.scores");
    ui.click("steps.scores");
    CHECK_FALSE(ui.sees("steps.typed"));
  }

  TEST_CASE("weights typed in Steps are those of the head on screen, in PyTorch's order") {
    State state = notebook_state("notebook-001");
    state.view.tab = "steps";
    state.selection.head = 2;
    UiDriver ui(state);
    ui.resize(1600, 2400);
    open_cell(ui, "k", "w_k", {1, 3}, {2, 8});  // row 3, column 1 of head 2, whose columns begin at 4
    ui.press(Key::A, kControl);
    ui.type("0.25");
    ui.press(Key::Enter);
    ui.settle();
    CHECK(model_changes(ui.state()) == "W_K[5,3] typed");
    open_cell(ui, "x", "x", {6, 1}, {8, 5});
    ui.press(Key::A, kControl);
    ui.type("2");
    ui.press(Key::Enter);
    ui.settle();
    CHECK(model_changes(ui.state()) == "W_K[5,3] typed \u00B7 X[0,1,6] typed");
    CHECK(ui.result().error.empty());
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
