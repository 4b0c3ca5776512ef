// Text fields that wrap, and who has the keyboard.
#include <cstring>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "app/shell/wrapped_text.h"
#include "app/shell_stage.h"
#include "imgui_internal.h"

namespace shell_text_test {

using namespace headlight::shell;

namespace {

/// Wraps the text as if each character were one unit wide.
WrappedText wrapped(const std::string& text, float width) {
  return {text, width, [](std::string_view) { return 1.0F; }};
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("lines break at spaces, in their place, and inside words that are wider than a line") {
    CHECK(wrapped("", 4).shown() == "");
    CHECK(wrapped("", 4).lines() == 1);
    CHECK(wrapped("one two", 7).shown() == "one two");
    CHECK(wrapped("one two", 6).shown() == "one\ntwo");
    CHECK(wrapped("one two ", 7).shown() == "one two\n");  // a space that has no room goes on in the next line
    CHECK(wrapped("one\ntwo three", 6).shown() == "one\ntwo\nthree");
    CHECK(wrapped("one\ntwo three", 6).lines() == 3);
    CHECK(wrapped("onetwothree", 4).shown() == "onet\nwoth\nree");
    CHECK(wrapped("a onetwothree", 4).shown() == "a\nonet\nwoth\nree");
    CHECK(wrapped("猫は速く走る", 4).shown() == "猫は速く\n走る");
    CHECK(wrapped("wide", 0.5F).shown() == "w\ni\nd\ne");
    CHECK(wrapped("one two", std::numeric_limits<float>::infinity()).shown() == "one two");
  }

  TEST_CASE("places of the text and of what is shown are each other's") {
    const WrappedText lines = wrapped("a onetwothree 猫は速く走る", 4);
    for (std::size_t at = 0; at <= lines.text().size(); ++at) {
      const std::size_t shown = lines.to_shown(at);
      CHECK(lines.to_text(shown) == at);
      if (at < lines.text().size() && lines.text()[at] != ' ') CHECK(lines.shown()[shown] == lines.text()[at]);
    }
    CHECK(lines.copied("onet\nwo", 2) == "onetwo");
    CHECK(lines.copied("a\non", 0) == "a on");
    CHECK(lines.copied("not there", 0) == "not there");
  }

  TEST_CASE("typing, deleting and pasting in what is shown change the text as if it had no breaks") {
    const WrappedText words = wrapped("one two", 4);  // "one\ntwo"
    const auto edit = [](const WrappedText& lines, const std::string& now, std::size_t caret, std::size_t before) {
      const WrappedText::Edit made = lines.edited(now, caret, before);
      return made.text + "@" + std::to_string(made.caret);
    };
    CHECK(edit(words, "one\ntXwo", 6, 5) == "one tXwo@6");
    CHECK(edit(words, "oneX\ntwo", 4, 3) == "oneX two@4");
    CHECK(edit(words, "one\n\ntwo", 4, 3) == "one\n two@4");  // Enter before the break
    CHECK(edit(words, "one\n\ntwo", 5, 4) == "one \ntwo@5");  // … and behind it
    CHECK(edit(words, "onetwo", 3, 4) == "onetwo@3");         // Backspace, and Delete, on the space
    CHECK(edit(words, "onetwo", 3, 3) == "onetwo@3");
    CHECK(edit(words, "one\ntXYZo", 8, 6) == "one tXYZo@8");  // pasted over a selection
    CHECK(edit(words, "", 0, 7) == "@0");
    const WrappedText word = wrapped("onetwo", 3);   // "one\ntwo", the newline added
    CHECK(edit(word, "onetwo", 3, 4) == "ontwo@2");  // Backspace on the break takes the character before it
    CHECK(edit(word, "onetwo", 3, 3) == "onewo@3");  // Delete the one behind it
    CHECK(edit(word, "one\nXtwo", 5, 4) == "oneXtwo@4");
  }

  TEST_CASE("random edits of what is shown are the same edits of the text") {
    std::mt19937 random(7);
    const auto below = [&](std::size_t count) { return std::uniform_int_distribution<std::size_t>(0, count - 1)(random); };
    const std::string letters = "ab c\nd e";
    std::string text = "one two three";
    for (int round = 0; round < 2000; ++round) {
      const WrappedText lines = wrapped(text, static_cast<float>(2 + below(7)));
      std::size_t first = below(lines.shown().size() + 1);
      std::size_t last = std::min(first + below(4), lines.shown().size());
      std::string inserted;
      for (std::size_t i = below(3); i > 0; --i) inserted += letters[below(letters.size())];
      if (inserted.empty()) continue;  // what deleting an added break means has its own test
      std::string now = lines.shown();
      now.replace(first, last - first, inserted);
      std::string expected = text;
      expected.replace(lines.to_text(first), lines.to_text(last) - lines.to_text(first), inserted);
      const WrappedText::Edit edit = lines.edited(now, first + inserted.size(), last);
      // A newline typed over a break that looks the same is the one case that can't be told from what is shown.
      if (lines.shown().substr(first, last - first).find('\n') == std::string::npos) CHECK(edit.text == expected);
      text = edit.text.substr(0, 40);
    }
  }

  TEST_CASE("the end of a change is found from both sides") {
    CHECK(end_of_change("abc", "abcd") == 4);
    CHECK(end_of_change("one\ntwo", "one more\ntwo") == 8);
    CHECK(end_of_change("abc", "abc") == 3);
    CHECK(end_of_change("abc", "") == 0);
  }

  TEST_CASE("a narrow text has three bytes for each character beyond U+FFFF, and its positions are found in both") {
    const std::string_view text = "a\U0001F600\u00E9\U0001F436b";
    const NarrowText narrow(text, [](std::string_view) { return "\uE000"; });
    CHECK(narrow.text() == "a\uE000\u00E9\uE000b");
    const std::vector<std::pair<std::size_t, std::size_t>> places = {{0, 0}, {1, 1}, {5, 4}, {7, 6}, {11, 9}, {12, 10}};
    for (const auto& [original, shown] : places) {
      CHECK(narrow.from_original(original) == shown);
      CHECK(narrow.to_original(shown) == original);
    }
  }
}

TEST_SUITE("gpu") {
  TEST_CASE("characters beyond U+FFFF are typed, pasted, copied and edited in a field as they are") {
    Stage stage;
    std::string text = "Der \U0001F600 dog \U0001F436";  // from a file, before the field is entered
    std::string clipboard;
    stage.ui.set_clipboard({.read = [] { return std::string("\U0001D4AB\U0001F436"); },
                            .write = [&](const std::string& copy) { clipboard = copy; }});
    TextPointer pointer;
    const auto content = [&] {
      stage.ui.text_field("##text", text, {.width = 300, .height = 60, .most_height = 60, .pointer = &pointer});
    };
    stage.settle(content);
    stage.ui.feed(click_at({60, 20}));
    stage.settle(content);
    CHECK(text == "Der \U0001F600 dog \U0001F436");
    stage.ui.feed(tap(Key::End, kControl));
    stage.settle(content);
    CHECK(pointer.caret == text.size());
    stage.ui.feed(TextInput{"\U0001F468\u200D\U0001F469!"});
    stage.settle(content);
    CHECK(text == "Der \U0001F600 dog \U0001F436\U0001F468\u200D\U0001F469!");
    CHECK(pointer.caret == text.size());
    stage.ui.feed(tap(Key::Backspace));
    stage.ui.feed(tap(Key::Backspace));
    stage.ui.feed(tap(Key::V, kControl));
    stage.settle(content);
    CHECK(text == "Der \U0001F600 dog \U0001F436\U0001F468\u200D\U0001D4AB\U0001F436");
    stage.ui.feed(tap(Key::A, kControl));
    stage.ui.feed(tap(Key::C, kControl));
    stage.settle(content);
    CHECK(clipboard == text);
    text = "\U0001F600\U0001F436 a";  // changed elsewhere while it is edited
    stage.settle(content);
    stage.ui.feed(tap(Key::Home, kControl));
    stage.ui.feed(tap(Key::Delete));
    stage.settle(content);
    CHECK(text == "\U0001F436 a");
    CHECK(pointer.caret == 0);
  }

  TEST_CASE("a field wraps what is typed, without a newline in the text; its keys go by the lines that are seen") {
    Stage stage;
    std::string text;
    std::string clipboard;
    stage.ui.set_clipboard(
        {.read = [] { return std::string(); }, .write = [&](const std::string& copy) { clipboard = copy; }});
    float height = 0.0F;
    const auto content = [&] {
      stage.ui.text_field("##text", text, {.width = 160, .height = 40, .most_height = 400});
      height = ImGui::GetItemRectSize().y;
    };
    stage.settle(content);
    CHECK(height == 40.0F);
    stage.ui.feed(click_at({60, 20}));
    std::string typed;
    for (int i = 0; i < 30; ++i) {
      typed += "word" + std::to_string(i) + " ";
      stage.ui.feed(TextInput{"word" + std::to_string(i) + " "});
      stage.settle(content);
    }
    typed += std::string(60, 'x');  // wider than the field
    stage.ui.feed(TextInput{std::string(60, 'x')});
    stage.settle(content);
    CHECK(text == typed);
    CHECK(height > 150.0F);
    for (int i = 0; i < 61; ++i) stage.ui.feed(tap(Key::Backspace));
    stage.settle(content);
    CHECK(text == typed.substr(0, typed.size() - 61));
    stage.ui.feed(tap(Key::Home));  // of the line that is seen
    stage.ui.feed(TextInput{"|"});
    stage.settle(content);
    CHECK(text.find('|') > text.size() - 30);
    CHECK(text.find('|') < text.size() - 1);
    stage.ui.feed(tap(Key::A, kControl));
    stage.ui.feed(tap(Key::C, kControl));
    stage.settle(content);
    CHECK(clipboard == text);
    stage.ui.feed(tap(Key::Delete));
    stage.settle(content);
    CHECK(text.empty());
    CHECK(height == 40.0F);
  }

  TEST_CASE("what is added to a text outside scrolls into view, at the end and in the middle") {
    Stage stage;
    std::string text;
    for (int i = 0; i < 40; ++i) text += "line " + std::to_string(i) + "\n";
    const auto content = [&] { stage.ui.text_field("##text", text, {.width = 200, .height = 60}); };
    const auto scroll = [&] {
      float y = -1.0F;
      stage.settle([&] {
        content();
        y = ImGui::GetCurrentWindow()->DC.ChildWindows.back()->Scroll.y;
      });
      return y;
    };
    CHECK(scroll() == 0.0F);
    text += "generated";
    const float end = scroll();
    CHECK(end > 300.0F);
    text.insert(text.find("line 20") + 7, " grows");
    const float middle = scroll();
    CHECK(middle > 100.0F);
    CHECK(middle < end);
    text.insert(text.find("line 20") + 7, " too");  // visible already
    CHECK(scroll() == middle);
  }

  TEST_CASE("a text from right to left is at the right and joined, until it is edited") {
    Stage stage;
    std::string text = "\xD7\xA9\xD7\x9C\xD7\x95\xD7\x9D";  // Hebrew: shalom
    const auto content = [&] { stage.ui.text_field("##text", text, {.width = 300, .height = 60}); };
    // Pixels of letters in the columns of a field's part; the ground is what its middle shows.
    const auto ink = [&](std::uint32_t first, std::uint32_t end) {
      const PixelImage image = stage.draw(content);
      const auto at = [&](std::uint32_t x, std::uint32_t y) {
        std::uint32_t pixel = 0;
        std::memcpy(&pixel, image.rgba.data() + (std::size_t{y} * image.size.x + x) * 4, sizeof(pixel));
        return pixel;
      };
      int count = 0;
      for (std::uint32_t y = 14; y < 30; ++y) {
        for (std::uint32_t x = first; x < end; ++x) count += largest_difference(at(x, y), at(150, y)) > 60 ? 1 : 0;
      }
      return count;
    };
    CHECK(ink(16, 120) == 0);
    CHECK(ink(220, 300) > 20);
    stage.ui.feed(click_at({100, 20}));
    stage.settle(content);
    REQUIRE(stage.ui.is_typing());
    CHECK(ink(16, 120) > 20);  // where the caret moves among the letters
    CHECK(ink(220, 300) == 0);
    text = "left to right";
    stage.ui.feed(tap(Key::Escape));
    CHECK(ink(16, 120) > 20);
    CHECK(ink(220, 300) == 0);
  }

  TEST_CASE("a field takes the keyboard when it is told to, at its end or with everything selected") {
    Stage stage;
    std::string text = "first";
    FieldFocus focus = FieldFocus::AtEnd;
    const auto content = [&] {
      stage.ui.text_field("##text", text, {.width = 300, .height = 60, .focus = std::exchange(focus, FieldFocus::None)});
    };
    stage.settle(content);
    CHECK(stage.ui.is_typing());
    stage.ui.feed(TextInput{"!"});
    stage.settle(content);
    CHECK(text == "first!");
    stage.ui.feed(tap(Key::Escape));
    stage.settle(content);
    CHECK_FALSE(stage.ui.is_typing());
    focus = FieldFocus::SelectAll;
    stage.settle(content);
    stage.ui.feed(TextInput{"second"});
    stage.settle(content);
    CHECK(text == "second");
  }

  TEST_CASE("a caret blinks for a while after the last input and then rests") {
    Stage stage;
    std::string text;
    const auto content = [&] { stage.ui.text_field("##text", text, {.width = 300}); };
    stage.settle(content);
    stage.ui.feed(click_at({100, 20}));
    stage.settle(content);
    CHECK(stage.ui.redraw_after_s() < 1.0);
    for (int i = 0; i < 700; ++i) stage.frame(content);  // 1/60 s each
    CHECK(stage.ui.is_typing());
    CHECK(stage.ui.redraw_after_s() == std::numeric_limits<double>::infinity());
    stage.ui.feed(TextInput{"x"});
    stage.settle(content);
    CHECK(stage.ui.redraw_after_s() < 1.0);
  }
}

}  // namespace shell_text_test
