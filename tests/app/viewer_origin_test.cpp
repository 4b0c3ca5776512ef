// "Where is this number from?" in the views.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <imgui.h>

#include <string>

#include "app/ui_driver.h"

namespace viewer_origin_test {

using namespace headlight;
using namespace headlight::app;
using shell::Key;

namespace {

std::string copied(UiDriver& ui) {
  ui.wait(2.0);
  ui.click("origin.copy");
  return ImGui::GetClipboardText();
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("a key asks about the pinned cell in every view, and Esc closes the answer") {
    State state;
    state.text() = "the cat sat on the mat";
    UiDriver ui(state);
    show_golden_model(ui, "gpt2");
    ui.click_cell(3, 1);
    REQUIRE(ui.state().view.pinned);
    for (const Key tab : {Key::Digit1, Key::Digit2, Key::Digit8, Key::Digit9, Key::L}) {
      ui.press(tab);
      CAPTURE(ui.state().view.tab);
      ui.press(Key::O);
      REQUIRE(ui.sees("origin.value"));
      const std::string text = copied(ui);
      CHECK(text.find("\ncomputed by: ") != std::string::npos);
      CHECK(text.find("model.safetensors") != std::string::npos);
      CHECK(text.find("…") == std::string::npos);
      // Where the pointer is on a bar of the logits, it is the bar's number.
      CHECK(text.find(ui.state().view.tab == "logits" ? "logit" : "attention weights = ") < text.find('\n'));
      ui.press(Key::Escape);
      CHECK_FALSE(ui.sees("origin.value"));
    }
  }

  TEST_CASE("thumbnails and metrics of heads are asked about like cells") {
    State state;
    state.text() = "the cat sat on the mat";
    UiDriver ui(state);
    show_golden_model(ui, "gpt2");
    const auto told_of = [&](const std::string& name) {
      ui.move_to(name);
      ui.press(Key::O);
      REQUIRE(ui.sees("origin.value"));
      const std::string text = copied(ui);
      ui.press(Key::Escape);
      CHECK(text.find("…") == std::string::npos);
      return text;
    };
    const HeadRef chosen{.block = ui.state().selection.block, .head = ui.state().selection.head};
    const std::string cell = told_of("grid.encoder.1.2");
    CHECK(cell.starts_with("attention weights = "));
    CHECK(cell.find("layer 1, head 2") != std::string::npos);
    CHECK(ui.state().selection.head == chosen.head);  // asking selects nothing
    ui.press(Key::Digit6);
    CHECK(told_of("model.map.1.2") == cell);
    ui.press(Key::Digit7);
    const std::string metric = told_of("heads.row.1.2");
    CHECK(metric.starts_with("what a head does = "));
    CHECK(metric.find("\nmetric: ") != std::string::npos);
    CHECK(metric.find("\nexact or sampled: exact: all ") != std::string::npos);
    CHECK(metric.find("layer 1, head 2") != std::string::npos);
    ui.feed(shell::click_at(ui.rect("grid.encoder.0.1").center(), shell::MouseButton::Left, shell::kControl));
    CHECK(ui.sees("origin.value"));
    CHECK(ui.state().selection.head == chosen.head);
  }

  TEST_CASE("of a map of differences it is the difference that is traced") {
    UiDriver ui;
    show_golden_model(ui, "gpt2");
    const float before = weights(ui).at(2, 1);
    REQUIRE(before > 0.0F);
    ui.press(Key::D, shell::kControl);
    ui.paint_cell(2, 1);
    ui.click_cell(2, 1);
    ui.press(Key::O);
    const std::string text = copied(ui);
    CHECK(text.starts_with(fmt::format("difference of attention weights = {:.9g}\n", -before)));
    CHECK(text.find("the reference run's number is subtracted") != std::string::npos);
  }
}

}  // namespace viewer_origin_test
