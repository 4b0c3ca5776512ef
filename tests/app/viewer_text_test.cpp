// The text in the window: who has the keyboard, typing, wrapping, chips.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "app/engine/gpu_runner.h"
#include "app/models/starter_view.h"
#include "app/ui_driver.h"
#include "engine/fake_runner.h"
#include "support/temporary_directory.h"

namespace viewer_text_test {

using namespace headlight;
using namespace headlight::app;
using shell::kControl;
using shell::kControlShift;
using shell::Key;

namespace {

/// A window as `headlight` opens it: the text box has the keyboard.
struct StartDriver : UiDriver {
  explicit StartDriver(State state, bool shows_welcome = true)
      : UiDriver(std::move(state), open_reference_runner, {}, shows_welcome, true) {}
};

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("typing changes the text, the tokens and the map; undo and redo take it back and forth") {
    UiDriver ui;
    const std::string before = ui.state().text();
    ui.click("text.edit");
    ui.press(Key::End);
    ui.type(" now");
    CHECK(ui.state().text() == before + " now");
    CHECK(ui.result().input->source.length == 7);
    CHECK(ui.sees("chips.query.0.6"));
    ui.press(Key::Z, kControl);
    CHECK(ui.state().text() == before);
    CHECK(ui.result().input->source.length == 6);
    ui.press(Key::Y, kControl);
    CHECK(ui.state().text() == before + " now");
    ui.press(Key::Z, kControl);
    ui.press(Key::Z, kControlShift);
    CHECK(ui.state().text() == before + " now");
  }

  TEST_CASE("a file without text leaves the text as it is, and the notice says why") {
    const TemporaryDirectory directory;
    UiDriver ui(with_text("the cat"));
    for (const std::string_view content : {"", "\r\n\n"}) {
      const std::filesystem::path file = directory.path() / "empty.txt";
      std::ofstream(file) << content;
      ui.window().open_files({file.string()});
      ui.settle();
      CHECK(ui.state().text() == "the cat");
      CHECK(ui.window().notice().is_warning);
      CHECK(ui.window().notice().text == file.string() + " has no text: the text on screen stays");
    }
    CHECK(ui.result().error == "");
  }

  TEST_CASE("letters are the text's while it is edited and shortcuts otherwise") {
    UiDriver ui;
    ui.press(Key::C);
    CHECK(ui.state().masks.by_kind[0].rule.causal);
    CHECK(weights(ui).is_masked(0, 1));
    CHECK(weights(ui).at(0, 0) == doctest::Approx(1.0));
    ui.press(Key::P);
    CHECK_FALSE(ui.state().masks.by_kind[0].rule.key_padding);
    ui.click("text.edit");
    ui.press(Key::End);
    ui.press(Key::C);
    ui.type("c");
    CHECK(ui.state().text().back() == 'c');
    CHECK(ui.state().masks.by_kind[0].rule.causal);
    ui.press(Key::Escape);
    ui.press(Key::C);
    CHECK_FALSE(ui.state().masks.by_kind[0].rule.causal);
  }

  TEST_CASE("an empty text is refused beside the text") {
    UiDriver ui;
    ui.fill_in("text.edit", "");
    CHECK(ui.state().text().empty());
    CHECK(ui.result().is_stale);
    CHECK(ui.sees("stale.error"));
    ui.fill_in("text.edit", "again");
    CHECK(ui.result().error.empty());
    CHECK(ui.result().input->source.length == 1);
  }

  TEST_CASE("a second text makes it cross-attention") {
    UiDriver ui;
    ui.click("text.cross");
    CHECK(ui.state().playground().cross);
    ui.fill_in("text.key_edit", "a b c");
    REQUIRE(ui.result().input->target.has_value());
    CHECK(ui.result().input->source.length == 3);
    CHECK(ui.result().input->target->length == 6);
    CHECK(ui.state().selection.block.kind == model::BlockKind::Cross);
    CHECK(ui.sees("chips.key.0.2"));
    ui.click("text.cross");
    CHECK_FALSE(ui.result().input->target.has_value());
    CHECK(ui.state().selection.block.kind == model::BlockKind::EncoderSelf);
  }

  TEST_CASE("pointing at a token's chip lights its row and column on the map") {
    UiDriver ui;
    const chart::Rect map = ui.rect("head.map");
    const auto corner = [&] {  // on the outline of the third row
      const shell::PixelImage image = ui.ui().read_pixels();
      return image.at(static_cast<std::uint32_t>(map.origin.x + map.size.x * 0.25F),
                      static_cast<std::uint32_t>(std::round(map.origin.y + map.size.y / 3.0F)));
    };
    const std::uint32_t before = corner();
    ui.move_to("chips.query.0.2");
    CHECK(corner() != before);
    ui.move_to("mask.causal");
    CHECK(corner() == before);
  }

  TEST_CASE("the text box has the keyboard from the beginning: what is typed goes into it and runs no shortcut") {
    StartDriver ui(with_text("one two"));
    CHECK(ui.ui().is_typing());
    for (const Key key : {Key::C, Key::K, Key::P, Key::B, Key::T, Key::Digit2}) ui.press(key);
    ui.type(" pack");
    CHECK(ui.state().text() == "one two pack");
    CHECK(ui.state().masks == attention::MaskSet{});
    CHECK(ui.state().gains.empty());
    CHECK(ui.state().view == with_text("").view);
    CHECK_FALSE(ui.window().is_painting());
    CHECK(ui.sees("welcome.0"));
  }

  TEST_CASE("Undo to a text whose tokens no run has leaves a token of it locked that was locked when it was typed over") {
    const auto log = std::make_shared<FakeLog>();
    UiDriver ui(with_text("one two three four five six"), fake_factory(log));
    constexpr int kLocked = 5;
    for (int i = 0; i < kLocked; ++i) ui.press(Key::Down, shell::kShift);
    REQUIRE(ui.state().view.locked);
    CHECK(ui.state().view.locked->token == kLocked - 1);
    CHECK_FALSE(ui.window().undo().can_undo());
    ui.wait(5.0);
    ui.fill_in("text.edit", "one two");
    REQUIRE(ui.result().shapes.begin()->second.queries == 2);
    CHECK_FALSE(ui.state().view.locked);
    log->fails_to_run = true;  // so that the window goes on showing two tokens
    while (ui.window().undo().can_undo()) ui.press(Key::Z, kControl);
    REQUIRE(ui.state().view.locked);
    CHECK(ui.state().view.locked->token == kLocked - 1);
    CHECK(ui.state().text() == "one two three four five six");
  }

  TEST_CASE("undo to a layer that the run on screen lacks draws what there is until the run has it") {
    State state;
    state.playground().settings.layers = 2;
    UiDriver ui(state);
    ui.press(Key::Down);
    REQUIRE(ui.state().selection.block.layer.value == 1);
    ui.wait(5.0);
    ui.fill_in("model.layers", "1");
    REQUIRE(ui.result().shapes.size() == 1);
    CHECK(ui.state().selection.block.layer.value == 0);
    ui.press(Key::Z, kControl);
    CHECK(ui.window().notice().text == "");
    CHECK(ui.state().selection.block.layer.value == 1);
    CHECK(ui.state().playground().settings.layers == 2);
  }

  TEST_CASE("a word of joined emoji that is wider than an atlas of glyphs is drawn") {
    std::string word;
    for (int i = 0; i < 40; ++i) word += "\U0001F469\u200D\U0001F469\u200D\U0001F467";
    UiDriver ui(with_text("a " + word));
    CHECK(ui.sees("text.edit"));
    CHECK(ui.window().notice().text.find("::") == std::string::npos);
  }

  TEST_CASE("the example sentence is replaced by what is typed first, and comes back with undo") {
    StartDriver ui{State{}};
    ui.type("hello");
    CHECK(ui.state().text() == "hello");
    ui.press(Key::Z, kControl);
    CHECK(ui.state().text() == State{}.text());
  }

  TEST_CASE("a click on the map and Esc leave the text; / and Ctrl+L go back to it and type nothing") {
    StartDriver ui(with_text("one two"));
    ui.click("head.map");
    CHECK_FALSE(ui.ui().is_typing());
    ui.press(Key::C);
    CHECK(ui.state().masks.by_kind[0].rule.causal);
    const std::vector<shell::InputEvent> slash = {shell::KeyPress{Key::Slash, true, {}}, shell::TextInput{"/"},
                                                  shell::KeyPress{Key::Slash, false, {}}};
    ui.ui().feed(slash);
    ui.settle();
    CHECK(ui.ui().is_typing());
    ui.type("!");
    CHECK(ui.state().text() == "one two!");
    ui.press(Key::Escape);
    CHECK_FALSE(ui.ui().is_typing());
    CHECK(ui.sees("welcome.0"));  // Esc left the text and no more
    ui.press(Key::L, kControl);
    ui.type("/");  // in the text it is a character
    CHECK(ui.state().text() == "one two!/");
    ui.press(Key::Escape);
    ui.press(Key::F5);
    CHECK_FALSE(ui.sees("text.edit"));
    ui.press(Key::Slash);
    CHECK(ui.sees("text.edit"));
    CHECK(ui.ui().is_typing());
  }

  TEST_CASE("a long line wraps in its box, which grows, and stays one line of the batch") {
    StartDriver ui(with_text("one two"));
    ui.resize(800, 1000);
    const float height = ui.rect("text.edit").size.y;
    ui.type(" three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen");
    CHECK(ui.state().text().find('\n') == std::string::npos);
    CHECK(ui.result().input->source.batch == 1);
    CHECK(ui.rect("text.edit").size.y > height + 10.0F);
    // The caret moves up from the end by the lines that are seen, and typing goes there.
    ui.press(Key::Up);
    ui.type("X");
    CHECK(ui.state().text().find('X') < ui.state().text().size() - 10);
    ui.press(Key::Z, kControl);
    CHECK(ui.state().text().find('X') == std::string::npos);
  }

  TEST_CASE("a text unlike what a bundled model has read is called so by its surprise alone") {
    State state;
    change_to_model(state, find_bundled_model("captions-gpt2")->string());
    state.model().text = "A dog runs through the grass.";
    UiDriver ui(state, open_gpu_runner);
    ui.press(Key::C);  // the model's own mask
    const auto is_called_so = [&] {
      ui.click("chip.text");
      ui.settle();
      const bool is_said = ui.sees("text.misfit");
      ui.click("chip.text");
      return is_said;
    };
    CHECK_FALSE(is_called_so());  // 1.8 nats a token
    ui.fill_in("text.edit", "Parliament votes on the budget");
    CHECK(is_called_so());  // 5.2
    ui.fill_in("text.edit", "An old man reads a newspaper on a bench in the park.");
    CHECK_FALSE(is_called_so());  // 2.3
  }
}

}  // namespace viewer_text_test
