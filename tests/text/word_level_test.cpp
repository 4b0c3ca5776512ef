#include "text/word_vocabulary.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace word_level_test {

using namespace headlight;
using namespace headlight::text;

namespace {

WordTokens tokenize(std::string_view text) { return tokenize_words({text}).value().front(); }

std::vector<std::string> words(const std::vector<Token>& line) {
  std::vector<std::string> list;
  for (const Token& token : line) list.push_back(token.text);
  return list;
}

std::vector<std::uint32_t> ids(const std::vector<Token>& line) {
  std::vector<std::uint32_t> list;
  for (const Token& token : line) list.push_back(token.id);
  return list;
}

using Words = std::vector<std::string>;
using Ids = std::vector<std::uint32_t>;

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("notebook 004's sentence has notebook 004's ids") {
    const WordTokens tokens = tokenize("My shoes are small, my feet are big.");
    REQUIRE(tokens.lines.size() == 1);
    CHECK(words(tokens.lines[0]) == Words{"My", "shoes", "are", "small", "my", "feet", "are", "big."});
    CHECK(ids(tokens.lines[0]) == Ids{0, 6, 2, 7, 5, 4, 2, 3});  // "are" keeps the last of its two indices
    CHECK(tokens.vocabulary == 8);
  }

  TEST_CASE("words are split at every white space that Unicode knows, and at no other") {
    CHECK(words(tokenize("a\u00a0b\u1680c\u2000d\u200ae\u2028f\u2029g\u202fh\u205fi\u3000j\u0085k\tl\vm\fn\ro").lines[0]) ==
          Words{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o"});
    CHECK(words(tokenize("a\u200bb \ufeffc").lines[0]) == Words{"a\u200bb", "\ufeffc"});  // zero width is no white space
  }

  TEST_CASE("commas are removed, as by replace(',', '')") {
    CHECK(words(tokenize("a,b ,, c, ,d").lines[0]) == Words{"ab", "c", "d"});
    CHECK_FALSE(tokenize_words({" , ,, "}).has_value());
  }

  TEST_CASE("lines are tokenized one by one with one dictionary, empty ones left out") {
    const WordTokens tokens = tokenize("b a\r\n\n  \n,\nc a\n");
    REQUIRE(tokens.lines.size() == 2);
    CHECK(words(tokens.lines[0]) == Words{"b", "a"});
    CHECK(ids(tokens.lines[0]) == Ids{2, 1});
    CHECK(ids(tokens.lines[1]) == Ids{3, 1});
    CHECK(tokens.vocabulary == 4);
  }

  TEST_CASE("several texts share a dictionary") {
    const std::vector<WordTokens> tokens = tokenize_words({"b c", "a b"}).value();
    CHECK(ids(tokens[0].lines[0]) == Ids{2, 3});
    CHECK(ids(tokens[1].lines[0]) == Ids{0, 2});
    CHECK(tokens[0].vocabulary == 4);
    CHECK(tokens[1].vocabulary == 4);
  }

  TEST_CASE("words sort by code point: capitals first, then accents, then characters above the BMP") {
    CHECK(ids(tokenize("\U0001f600 \uffee é z Z").lines[0]) == Ids{4, 3, 2, 1, 0});
  }

  TEST_CASE("byte ranges hold the words and leave only white space and commas between them") {
    const std::string text = "  My naïve, схема\n注意,力 机制 x,";
    std::size_t covered = 0;
    std::string between;
    for (const std::vector<Token>& line : tokenize(text).lines) {
      for (const Token& token : line) {
        REQUIRE(token.bytes.begin >= covered);
        REQUIRE(token.bytes.end > token.bytes.begin);
        between += text.substr(covered, token.bytes.begin - covered);
        std::string inside = text.substr(token.bytes.begin, token.bytes.end - token.bytes.begin);
        std::erase(inside, ',');  // a comma inside a word is in its range
        CHECK(inside == token.text);
        covered = token.bytes.end;
      }
    }
    between += text.substr(covered);
    CHECK(between == "   , \n  ,");
    CHECK(tokenize(text).lines[0][0].bytes == ByteRange{2, 4});
  }

  TEST_CASE("invalid UTF-8 is refused with its line and byte") {
    CHECK(tokenize_words({"one\ntwo \xff three"}).error() ==
          "the text is not valid UTF-8: line 2, byte 5 is 0xFF; save the text as UTF-8");
    CHECK(tokenize_words({"good", "\xc3"}).error() ==
          "the text is not valid UTF-8: line 1, byte 1 is 0xC3; save the text as UTF-8");
  }

  TEST_CASE("a text without a word is refused") {
    CHECK(tokenize_words({""}).error() == "there is no word in the text: type at least one");
    CHECK(tokenize_words({"a", " \n\u3000"}).error() == "there is no word in the text: type at least one");
  }

  TEST_CASE("counting agrees with tokenizing") {
    CHECK(count_words_per_line("a b\n\nc,d ,\u3000e") == std::vector<std::size_t>{2, 0, 2});
    CHECK(count_words_per_line("") == std::vector<std::size_t>{0});
    CHECK(count_words_per_line("a\n") == std::vector<std::size_t>{1, 0});
  }
}

}  // namespace word_level_test
