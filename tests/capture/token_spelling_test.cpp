// Tokens as tokenizers spell them: byte letters, marks of words, pieces, decoded texts.
#include "capture/capture_tokens.h"

#include <doctest/doctest.h>

namespace token_spelling_test {

using namespace headlight;
using namespace headlight::capture;

namespace {

using Line = std::vector<std::string>;

Spelling spelling_of_line(const Line& line) { return spelling_of(std::span(&line, 1)); }

Line labels_of(const Line& line) { return spell(line, spelling_of_line(line)).labels; }

/// Returns as digits which tokens go on where the one before ends.
std::string joins(const Line& line) {
  const std::vector<text::Token> tokens = spell(line, spelling_of_line(line)).tokens;
  std::string found;
  for (std::size_t i = 1; i < tokens.size(); ++i) {
    const bool are_both = !tokens[i - 1].bytes.is_empty() && !tokens[i].bytes.is_empty();
    found += are_both && tokens[i - 1].bytes.end == tokens[i].bytes.begin ? '1' : '0';
  }
  return found;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("byte letters become what they encode, over tokens that share a character") {
    const Line line{"<|endoftext|>", "The", "Ġun", "believ", "able", "Ċ", "Ġca", "fÃ©", "ĠðŁ", "ĺ", "Ģ", "Ġ", "end"};
    CHECK(spelling_of_line(line) == Spelling::ByteLetters);
    CHECK(labels_of(line) ==
          Line{"<|endoftext|>", "The", "·un", "believ", "able", "⏎", "·ca", "fé", "·😀¦", "¦😀¦", "¦😀", "·", "end"});
    CHECK(joins(line) == "011111111111");  // spaces are letters; the special token is apart
    CHECK(spell(line, Spelling::ByteLetters).tokens[0].is_special);
    CHECK_FALSE(spell(line, Spelling::ByteLetters).tokens[1].is_special);
    // Characters cut off at either end, and a special token outside of the alphabet.
    CHECK(spelling_of_line({"Ģ", "Ġa"}) == Spelling::ByteLetters);
    CHECK(spelling_of_line({"<｜begin▁of▁sentence｜>", "Ġa", "ĠðŁ"}) == Spelling::ByteLetters);
  }

  TEST_CASE("texts that only look like byte letters stay as they are") {
    for (const Line& line :
         {Line{"Łódź", "Ślęża"}, Line{"Ġgant", "café", "x"}, Line{"Ċ", "кот"}, Line{"the", "cat"}, Line{"café"}}) {
      CAPTURE(line[0]);
      CHECK(spelling_of_line(line) == Spelling::Words);
      CHECK(labels_of(line) == line);
    }
    CHECK(spelling_of({}) == Spelling::Words);
    CHECK(labels_of({"two words", "a\nb", ""}) == Line{"two words", "a\\nb", ""});
    CHECK(joins({"the", "cat"}) == "0");
  }

  TEST_CASE("marks of words, pieces of words and spaces join what belongs together") {
    CHECK(labels_of({"<s>", "▁un", "believ", "<0x0A>", "▁"}) == Line{"<s>", "·un", "believ", "⏎", "·"});
    CHECK(joins({"▁un", "believ", "▁a"}) == "11");  // "·" in front says that a word begins
    CHECK(labels_of({"[CLS]", "un", "##believ", "##able", "[SEP]"}) == Line{"[CLS]", "un", "##believ", "##able", "[SEP]"});
    CHECK(joins({"[CLS]", "un", "##believ", "##", "x"}) == "0100");
    CHECK(labels_of({"The", " cat", "s", "\n"}) == Line{"The", "·cat", "s", "⏎"});
    CHECK(joins({"The", " cat", "s"}) == "11");
  }
}

}  // namespace token_spelling_test
