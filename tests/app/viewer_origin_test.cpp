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
    UiDriver ui(with_text("the cat sat on the mat"));
    show_golden_model(ui, "gpt2");
    ui.click_cell(3, 1);
    REQUIRE(ui.state().view.pinned);
    for (const Key tab : {Key::Digit1, Key::Digit2, Key::Digit8, Key::Digit9, Key::L}) {
      ui.press(tab);
      CAPTURE(ui.state().view.tab);
      ui.feed({shell::MouseLeave{}});
      ui.press(Key::O);
      REQUIRE(ui.sees("origin.value"));
      const std::string text = copied(ui);
      CHECK(text.find("\ncomputed by: ") != std::string::npos);
      CHECK(text.find("model.safetensors") != std::string::npos);
      CHECK(text.find("…") == std::string::npos);
      // The page of a logit is about the logit.
      CHECK(text.find(ui.state().view.tab == "logits" ? "logit" : "attention weights = ") < text.find('\n'));
      ui.press(Key::Escape);
      CHECK_FALSE(ui.sees("origin.value"));
    }
  }

  TEST_CASE("thumbnails and metrics of heads are asked about like cells") {
    UiDriver ui(with_text("the cat sat on the mat"));
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
    const std::string metric = told_of("heads.row.L1 H2");
    CHECK(metric.starts_with("what a head does = "));
    CHECK(metric.find("\nmetric: ") != std::string::npos);
    CHECK(metric.find("\nexact or sampled: exact: all ") != std::string::npos);
    CHECK(metric.find("layer 1, head 2") != std::string::npos);
    ui.feed(shell::click_at(ui.rect("grid.encoder.0.1").center(), shell::MouseButton::Left, shell::kControl));
    CHECK(ui.sees("origin.value"));
    CHECK(ui.state().selection.head == chosen.head);
  }

  TEST_CASE("a line, and a token shaded by a locked one, are asked about") {
    State state = with_text("the cat sat on the mat", "lines");
    state.view.lines.threshold = 0.01F;
    UiDriver ui(state);
    show_golden_model(ui, "gpt2");
    const auto told = [&] {
      ui.press(Key::O);
      REQUIRE(ui.sees("origin.value"));
      const std::string text = copied(ui);
      ui.press(Key::Escape);
      return text;
    };
    const auto weight_of = [&](std::uint32_t query, std::uint32_t key, std::uint32_t head) {
      for (const auto& [asked, known] : ui.result().tiles) {
        const bool is_it = asked.quantity == QuantityId(attention::Stage::Weights) && asked.head == head &&
                           asked.block == ui.state().selection.block && asked.pool == 1 && asked.row <= query &&
                           query < asked.row + asked.rows && asked.column <= key && key < asked.column + asked.columns &&
                           ui.result().is_current(asked);
        if (is_it) return fmt::format("attention weights = {:.9g}\n", known.tile->at(query - asked.row, key - asked.column));
      }
      return std::string("not known");
    };
    // The first token sees itself alone: the upper edge has lines of weight 1, one of each head.
    const chart::Rect query = ui.rect("lines.query.0"), key = ui.rect("lines.key.0");
    ui.feed({shell::MouseMove{(query.center() + key.center()) * 0.5F}});
    CHECK(ui.window().followed_query() == 0U);
    const std::string line = told();
    CHECK(line.starts_with("attention weights = 1\n"));
    CHECK(line.find("query 0 ") != std::string::npos);
    CHECK(line.find("key 0 ") != std::string::npos);
    CHECK(line.find("model.safetensors") != std::string::npos);
    // A token shows the heaviest of its own lines.
    ui.move_to("lines.query.2");
    CHECK(told().find("query 2 ") != std::string::npos);
    ui.press(Key::Digit5);
    ui.click("text.token.4");
    REQUIRE(ui.state().view.locked);
    ui.move_to("text.token.1");
    const std::string token = told();
    CHECK(token.starts_with(weight_of(4, 1, ui.state().selection.head)));
    CHECK(token.find("query 4 ") != std::string::npos);
    CHECK(token.find("key 1 ") != std::string::npos);
    ui.move_to("view.text_side.0");  // shaded by the locked token: the largest weight, which the line above names
    const std::string largest = told();
    CHECK(largest.find("query 4 ") != std::string::npos);
    CHECK(largest.find("…") == std::string::npos);
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
    CHECK(text.find("the baseline's number is subtracted") != std::string::npos);
  }
}

}  // namespace viewer_origin_test
