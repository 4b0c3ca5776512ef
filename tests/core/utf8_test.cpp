#include "core/utf8.h"

#include <doctest/doctest.h>

#include "core/error.h"

namespace utf8_test {

using namespace headlight;

TEST_SUITE("cpu") {
  TEST_CASE("invalid UTF-8 is found at its first byte") {
    CHECK(find_invalid_utf8("a\u00e9\U0001f600") == std::string_view::npos);
    CHECK(find_invalid_utf8("a\xc0\x80") == 1);         // overlong
    CHECK(find_invalid_utf8("ab\xed\xa0\x80") == 2);    // surrogate
    CHECK(find_invalid_utf8("\xf4\x90\x80\x80") == 0);  // above U+10FFFF
    CHECK(find_invalid_utf8("abc\xe6\xb3") == 3);       // cut off
    CHECK(find_invalid_utf8("") == std::string_view::npos);
  }

  TEST_CASE("a sequence never reaches past the text's end") {
    const std::string_view begins[] = {"\xc3", "\xe2\x96", "\xf0\x9f\x98", "\xe2", "\xff"};
    for (const std::string_view text : begins) {
      const Utf8Sequence sequence = utf8_sequence(text, 0);
      CHECK_FALSE(sequence.is_valid);
      CHECK(sequence.length <= text.size());
    }
    CHECK(utf8_sequence("\U0001f600x", 0).length == 4);
  }

  TEST_CASE("a line for a terminal has no control characters, no bidirectional controls and no invalid bytes") {
    CHECK(one_line("plain, \u00e9 and \u4e2d stay") == "plain, \u00e9 and \u4e2d stay");
    CHECK(one_line("a\nb\r\tc") == "a\\nb\\r\\tc");
    CHECK(one_line("\x1b[31mred\x07") == "\\x1B[31mred\\x07");
    CHECK(one_line("\u009b31m \u202egnp.exe \u2066x") == "\\u009B31m \\u202Egnp.exe \\u2066x");
    CHECK(one_line("a\xff\xe2\x96z") == "a\\xFF\\xE2\\x96z");
    CHECK(one_line(std::string("nul\0nul", 7)) == "nul\\x00nul");
  }

  TEST_CASE("the middle of a long line is cut, between characters") {
    const std::string text = "model.gguf: " + std::string(5'000'000, 'x') + "; download it again";
    const std::string line = one_line(text);
    CHECK(line.size() <= kLongestMessage);
    CHECK(line.starts_with("model.gguf: xxx"));
    CHECK(line.ends_with("; download it again"));
    std::string marks;
    for (int i = 0; i < 1000; ++i) marks += "\u2581";
    for (std::size_t longest = 20; longest < 60; ++longest) {
      const std::string shorter = one_line(marks, longest);
      CHECK(shorter.size() <= longest);
      CHECK(find_invalid_utf8(shorter) == std::string_view::npos);
    }
  }

  TEST_CASE("every Error is such a line") {
    const Error error("token {} is \"{}\"", 3, "\x1b]0;owned\x07" + std::string(100'000, 'a'));
    const std::string message = error.what();
    CHECK(message.size() <= kLongestMessage);
    CHECK(message.starts_with("token 3 is \"\\x1B]0;owned\\x07aaa"));
  }
}

}  // namespace utf8_test
