// Patterns in Oniguruma's syntax find what Oniguruma 6.9 finds (through the tokenizers package).
#include <doctest/doctest.h>

#include "core/error.h"
#include "text/regex.h"

using namespace headlight;
using text::Regex;

namespace {

using Words = std::vector<std::string>;

/// The matches that aren't empty.
Words find(const char* pattern, const std::string& text) {
  Words words;
  for (const text::ByteRange& match : Regex(pattern).find_all(text)) {
    if (!match.is_empty()) words.push_back(text.substr(match.begin, match.end - match.begin));
  }
  return words;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("syntax that Perl and Ruby read differently is read as Ruby does") {
    CHECK(find(R"(\p{N}{1,3}+)", "1234567 89") == Words{"1234567", "89"});  // repeated, not possessive
    CHECK(find(R"((?m).+)", "ab\ncd") == Words{"ab\ncd"});                  // the dot matches newlines
    CHECK(find("^b|a$", "ba\nba") == Words{"b", "a", "b", "a"});            // at every line
    CHECK(find(R"(\h+)", "xyz09af") == Words{"09af"});                      // hexadecimal digits
    CHECK(find("a{,2}", "aaa") == Words{"aa", "a"});
    CHECK(find("[a[bc]]+", "dabcd") == Words{"abc"});  // a set in a set is a union
  }

  TEST_CASE("classes are Unicode's") {
    CHECK(find(R"(\w+)", "x²₃ ½a_ⓐé") == Words{"x²", "½a_ⓐé"});
    CHECK(find(R"(\d+)", "1٣२²") == Words{"1٣२"});
    CHECK(find(R"([^\S\n]+)", "a \n\tb") == Words{" ", "\t"});
    CHECK(find(R"(\s)", "\u180E\u3000\u0085") == Words{"\u3000", "\u0085"});  // U+180E was white space once
    CHECK(find("[[:alpha:]]+", "aé1") == Words{"aé"});
    CHECK(find("(?i:'S|ſt)", "x's 'ſ ſT") == Words{"'s", "'ſ", "ſT"});
  }

  TEST_CASE("look-ahead sees the text after the match, and empty matches are skipped") {
    CHECK(find(R"(\s+(?!\S)|\s+)", "a   b  ") == Words{"  ", " ", "  "});
    CHECK(find("b*", "abba") == Words{"bb"});
    CHECK(Regex("x*").find_all("").size() == 1);
  }

  TEST_CASE("a pattern that backtracks a lot ends") {
    const std::string text(200000, ' ');
    CHECK(find(R"(\s+(?!\S)|\s+)", text).size() == 1);
    CHECK_THROWS_AS(Regex("(?:a+a+)+[bc]").find_all(std::string(64, 'a')), Error);
  }

  TEST_CASE("a literal matches itself") {
    CHECK(Regex::of_literal("a.b*[c]").find_all("xa.b*[c]aXb").size() == 1);
    CHECK(Regex::of_literal("▁").find_all("a▁b▁").size() == 2);
  }
}
