// Patterns in Oniguruma's syntax find what Oniguruma 6.9 finds (through the tokenizers package).
#include <doctest/doctest.h>

#include "core/error.h"
#include "support/error_message.h"
#include "text/regex.h"

namespace regex_test {

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
    CHECK(find("[a-f&&[^bd]]+", "abcdefg") == Words{"a", "c", "ef"});
    CHECK(find(R"([\Wa]+)", "b a!c") == Words{" a!"});
    CHECK(find("(?<=ab|c)x", "abx bx cx").size() == 2);
    CHECK(find("a++b|a", "aab aa") == Words{"aab", "a", "a"});
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
    CHECK_THROWS_AS(Regex("((((a{1,1000}){1,1000}){1,1000}){1,1000})b").find_all(std::string(3000, 'a')), Error);
  }

  TEST_CASE("a pattern that no tokenizer has is refused in one line") {
    const auto refusal = [](const std::string& pattern) { return test::error_message([&] { (void)Regex(pattern); }); };
    CHECK(refusal("a(b") == R"(the regular expression "a(b" can't be compiled: end pattern with unmatched parenthesis)");
    CHECK(refusal(R"(\\K)").empty());  // backslashes, then the letter
    CHECK(refusal(R"(a\Kb)") == R"(the regular expression "a\Kb" has \K, which Headlight can't run)");
    CHECK(refusal(R"(\Ga)") == R"(the regular expression "\Ga" has \G, which Headlight can't run)");
    CHECK(refusal(R"(\p{Nope})") ==
          R"(the regular expression "\p{Nope}" can't be compiled: invalid character property name {Nope})");
    CHECK(refusal("a\xff") == R"(the regular expression "a\xFF" isn't UTF-8)");
    CHECK(refusal(std::string(32'769, 'a')) == "a regular expression has 32769 bytes, more than 32768");
    CHECK(refusal(std::string(5'000, '(') + std::string(5'000, ')')).ends_with("parse depth limit over"));
  }

  TEST_CASE("a literal matches itself") {
    CHECK(Regex::of_literal("a.b*[c]").find_all("xa.b*[c]aXb").size() == 1);
    CHECK(Regex::of_literal("▁").find_all("a▁b▁").size() == 2);
    CHECK(Regex::of_literal("aa").find_all("aaaaa").size() == 2);
    CHECK(Regex::of_literal("").find_all("é").size() == 2);
  }
}

}  // namespace regex_test
