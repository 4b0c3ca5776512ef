// The text in the window: who has the keyboard, typing, wrapping, chips.
#include <doctest/doctest.h>

#include <cmath>

#include "app/hand.h"

using namespace headlight;
using namespace headlight::app;
using shell::kControl;
using shell::kControlShift;
using shell::Key;

namespace {

State with_text(const std::string& text) {
  State state;
  state.text = text;
  return state;
}

/// A window as `headlight` opens it: the text box has the keyboard.
struct FirstHand : Hand {
  explicit FirstHand(State state, bool shows_welcome = true)
      : Hand(std::move(state), open_reference_runner, {}, shows_welcome, true) {}
};

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("typing changes the text, the tokens and the map; undo and redo take it back and forth") {
    Hand hand;
    const std::string before = hand.state().text;
    hand.click("text.edit");
    hand.press(Key::End);
    hand.type(" now");
    CHECK(hand.state().text == before + " now");
    CHECK(hand.result().input->source.length == 7);
    CHECK(hand.sees("chips.query.0.6"));
    hand.press(Key::Z, kControl);
    CHECK(hand.state().text == before);
    CHECK(hand.result().input->source.length == 6);
    hand.press(Key::Y, kControl);
    CHECK(hand.state().text == before + " now");
    hand.press(Key::Z, kControl);
    hand.press(Key::Z, kControlShift);
    CHECK(hand.state().text == before + " now");
  }

  TEST_CASE("letters are the text's while it is edited and shortcuts otherwise") {
    Hand hand;
    hand.press(Key::C);
    CHECK(hand.state().masks.by_kind[0].rule.causal);
    CHECK(weights(hand).is_masked(0, 1));
    CHECK(weights(hand).at(0, 0) == doctest::Approx(1.0));
    hand.press(Key::P);
    CHECK_FALSE(hand.state().masks.by_kind[0].rule.key_padding);
    hand.click("text.edit");
    hand.press(Key::End);
    hand.press(Key::C);
    hand.type("c");
    CHECK(hand.state().text.back() == 'c');
    CHECK(hand.state().masks.by_kind[0].rule.causal);
    hand.press(Key::Escape);
    hand.press(Key::C);
    CHECK_FALSE(hand.state().masks.by_kind[0].rule.causal);
  }

  TEST_CASE("an empty text is refused beside the text") {
    Hand hand;
    hand.fill_in("text.edit", "");
    CHECK(hand.state().text.empty());
    CHECK(hand.result().is_stale);
    CHECK(hand.sees("text.warning"));
    hand.fill_in("text.edit", "again");
    CHECK(hand.result().error.empty());
    CHECK(hand.result().input->source.length == 1);
  }

  TEST_CASE("a second text makes it cross-attention") {
    Hand hand;
    hand.click("text.cross");
    CHECK(hand.state().cross);
    hand.fill_in("text.key_edit", "a b c");
    REQUIRE(hand.result().input->target.has_value());
    CHECK(hand.result().input->source.length == 3);
    CHECK(hand.result().input->target->length == 6);
    CHECK(hand.state().selection.block.kind == model::BlockKind::Cross);
    CHECK(hand.sees("chips.key.0.2"));
    hand.click("text.cross");
    CHECK_FALSE(hand.result().input->target.has_value());
    CHECK(hand.state().selection.block.kind == model::BlockKind::EncoderSelf);
  }

  TEST_CASE("pointing at a token's chip lights its row and column on the map") {
    Hand hand;
    const shell::UiRect map = hand.rect("head.map");
    const auto corner = [&] {  // on the outline of the third row
      const shell::PixelImage image = hand.ui().read_pixels();
      return image.at(static_cast<std::uint32_t>(map.x + map.width * 0.25F),
                      static_cast<std::uint32_t>(std::round(map.y + map.height / 3.0F)));
    };
    const std::uint32_t before = corner();
    hand.move_to("chips.query.0.2");
    CHECK(corner() != before);
    hand.move_to("mask.causal");
    CHECK(corner() == before);
  }

  TEST_CASE("the text box has the keyboard from the beginning: what is typed goes into it and runs no shortcut") {
    FirstHand hand(with_text("one two"));
    CHECK(hand.ui().is_typing());
    for (const Key key : {Key::C, Key::K, Key::P, Key::B, Key::T, Key::Digit2}) hand.press(key);
    hand.type(" pack");
    CHECK(hand.state().text == "one two pack");
    CHECK(hand.state().masks == attention::MaskSet{});
    CHECK(hand.state().gains.empty());
    CHECK(hand.state().view == with_text("").view);
    CHECK_FALSE(hand.window().is_painting());
    CHECK(hand.sees("welcome.0"));
  }

  TEST_CASE("the example sentence is replaced by what is typed first, and comes back with undo") {
    FirstHand hand{State{}};
    hand.type("hello");
    CHECK(hand.state().text == "hello");
    hand.press(Key::Z, kControl);
    CHECK(hand.state().text == State{}.text);
  }

  TEST_CASE("a click on the map and Esc leave the text; / and Ctrl+L go back to it and type nothing") {
    FirstHand hand(with_text("one two"));
    hand.click("head.map");
    CHECK_FALSE(hand.ui().is_typing());
    hand.press(Key::C);
    CHECK(hand.state().masks.by_kind[0].rule.causal);
    const std::vector<shell::InputEvent> slash = {shell::KeyPress{Key::Slash, true, {}}, shell::TextInput{"/"},
                                                  shell::KeyPress{Key::Slash, false, {}}};
    hand.ui().feed(slash);
    hand.settle();
    CHECK(hand.ui().is_typing());
    hand.type("!");
    CHECK(hand.state().text == "one two!");
    hand.press(Key::Escape);
    CHECK_FALSE(hand.ui().is_typing());
    CHECK(hand.sees("welcome.0"));  // Esc left the text and no more
    hand.press(Key::L, kControl);
    hand.type("/");  // in the text it is a character
    CHECK(hand.state().text == "one two!/");
    hand.press(Key::Escape);
    hand.click("section.text");
    CHECK_FALSE(hand.sees("text.edit"));
    hand.press(Key::Slash);
    CHECK(hand.sees("text.edit"));
    CHECK(hand.ui().is_typing());
  }

  TEST_CASE("a long line wraps in its box, which grows, and stays one line of the batch") {
    FirstHand hand(with_text("one two"));
    const float height = hand.rect("text.edit").height;
    hand.type(" three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen");
    CHECK(hand.state().text.find('\n') == std::string::npos);
    CHECK(hand.result().input->source.batch == 1);
    CHECK(hand.rect("text.edit").height > height + 10.0F);
    // Up from the end and typing there: the caret moves by the lines that are seen.
    hand.press(Key::Up);
    hand.type("X");
    CHECK(hand.state().text.find('X') < hand.state().text.size() - 10);
    hand.press(Key::Z, kControl);
    CHECK(hand.state().text.find('X') == std::string::npos);
  }
}
