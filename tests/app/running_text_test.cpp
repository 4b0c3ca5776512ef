// Running text: which tokens have a space before them, and where they and their numbers are.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "app/engine/token_words.h"
#include "app/figures/running_text.h"
#include "app/figures/shaded_text.h"

namespace running_text_test {

using namespace headlight;
using namespace headlight::app;

namespace {

text::Token token_at(std::uint32_t begin, std::uint32_t end, std::uint32_t source = 0) {
  return {.id = 0, .text = {}, .bytes = {begin, end}, .sequence = source, .is_special = begin == end, .source = source};
}

/// The text that a line of tokens reads as; "|" where a line ends.
std::string read_aloud(const std::vector<RunningToken>& tokens) {
  std::string text;
  for (const RunningToken& token : tokens) {
    if (!text.empty() && token.place.begins_word) text += ' ';
    text += token.place.text;
    if (token.ends_line) text += '|';
  }
  return text;
}

constexpr TextMeasures kMeasures{
    .width = 200.0F, .line_height = 30.0F, .token_height = 18.0F, .space = 4.0F, .padding = 2.0F};

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("outside of its text a mark is in quotation marks, and a token that another one repeats has its position") {
    model::TokenBatch tokens{.length = 6, .lengths = {6}, .texts = {{"a", ".", "·", "·dog", "a", "\u00E9"}}};
    CHECK(telling_names(tokens, 0) ==
          std::vector<std::string>{"a (0)", "\u201C.\u201D", "\u201C·\u201D", "·dog", "a (4)", "\u00E9"});
    CHECK(telling_names(tokens, 1).front() == "0");  // of a line without texts
  }

  TEST_CASE("the space before a word is no part of its token, and pieces of a word follow each other") {
    const std::vector<text::Token> gpt = {token_at(0, 3), token_at(3, 8), token_at(8, 9), token_at(9, 10), token_at(10, 11)};
    CHECK(read_aloud(running_tokens(std::vector<std::string>{"The", "·lamp", "s", "⏎", "x"}, gpt, 0)) == "The lamps⏎|x");
    const std::vector<text::Token> bert = {token_at(0, 0), token_at(0, 5),   token_at(5, 8),
                                           token_at(8, 9), token_at(10, 13), token_at(0, 0)};
    CHECK(read_aloud(running_tokens(std::vector<std::string>{"[CLS]", "embed", "##ded", ",", "yes", "[SEP]"}, bert, 0)) ==
          "[CLS] embedded, yes [SEP]");
    // Without a model every token is a word; a token of nothing but a space is seen.
    CHECK(read_aloud(running_tokens(std::vector<std::string>{"one", "##two", "·"}, {}, 0)) == "one ##two ·");
    // Sentences of a pair count bytes on their own.
    const std::vector<text::Token> pair = {token_at(0, 3), token_at(3, 6, 1)};
    CHECK(read_aloud(running_tokens(std::vector<std::string>{"one", "two"}, pair, 0)) == "one two");
    // Padding at the start has no token of the prompt.
    // A character that three tokens make is in the text once.
    const std::vector<text::Token> bytes = {token_at(0, 1), token_at(1, 2), token_at(2, 3), token_at(3, 7)};
    const std::vector<RunningToken> pieces = running_tokens(std::vector<std::string>{"न¦", "¦न¦", "¦नम¦", "¦मx"}, bytes, 0);
    CHECK(read_aloud(pieces) == "नमx");
    CHECK(pieces[1].part == "¦न¦");
    CHECK(pieces[1].place.text.empty());
    CHECK(running_tokens(std::vector<std::string>{"1/2"}, bytes, 0)[0].part.empty());
    const std::vector<RunningToken> padded = running_tokens(std::vector<std::string>{"<pad>", "one"}, pair, 1);
    REQUIRE(padded.size() == 2);
    CHECK(padded[1].place.text == "one");
    CHECK(padded[1].place.begins_word);
  }

  TEST_CASE("tokens that share a character are one word, and a space alone belongs to the word after it") {
    // Both tokens of "é" cover its bytes; the tokenizer leaves the space out of its token.
    std::vector<text::Token> gpt = {token_at(0, 5), token_at(3, 5), token_at(5, 5), token_at(6, 10), token_at(6, 10)};
    gpt[2].text = "Ġ";
    gpt[2].is_special = false;
    const std::vector<std::string> labels{"café¦", "¦é", "·", "😀¦", "¦😀"};
    const std::vector<TokenPlace> places = token_places(labels, gpt, 0);
    std::vector<bool> begins;
    for (const TokenPlace& place : places) begins.push_back(place.begins_word);
    CHECK(begins == std::vector<bool>{true, false, true, false, false});
    CHECK(word_text(std::span(places).first(2)) == "café");
    CHECK(word_text(std::span(places).subspan(2)) == "😀");
    CHECK(word_text(std::span(places).subspan(2, 1)) == "·");
    CHECK(word_text(std::span(places).subspan(1, 1)) == "¦é");  // alone, as the token is shown
  }

  TEST_CASE("words that fit are never broken, tokens never, and no token overlaps another or leaves its line") {
    std::vector<RunningToken> tokens;
    std::vector<float> widths;
    for (std::uint32_t i = 0; i < 2000; ++i) {
      tokens.push_back({.place = {.text = "x", .begins_word = i % 3 != 1}, .ends_line = i % 41 == 7});
      widths.push_back(i % 97 == 5 ? 500.0F : static_cast<float>(3 + (i * 29) % 53));
    }
    for (const bool is_right_to_left : {false, true}) {
      TextMeasures measures = kMeasures;
      measures.is_right_to_left = is_right_to_left;
      const TextLines lines = lay_out_text(tokens, widths, measures);
      REQUIRE(lines.tokens.size() == tokens.size());
      CHECK(lines.first_of.front() == 0);
      CHECK(lines.first_of.back() == tokens.size());
      for (std::uint32_t i = 0; i < tokens.size(); ++i) {
        const chart::Rect& rect = lines.tokens[i];
        CHECK(rect.origin.x >= 0.0F);
        CHECK(rect.end().x <= measures.width);
        CHECK(rect.end().y <= lines.height);
        if (i == 0) continue;
        const bool same_line = lines.line_of[i] == lines.line_of[i - 1];
        const chart::Rect& before = lines.tokens[i - 1];
        if (same_line) CHECK((is_right_to_left ? rect.end().x <= before.origin.x : rect.origin.x >= before.end().x));
        if (!same_line) CHECK(rect.origin.y >= before.end().y);
        if (tokens[i - 1].ends_line) CHECK_FALSE(same_line);
        const bool fits = widths[i] < 90.0F && widths[i - 1] < 90.0F;
        if (!tokens[i].place.begins_word && !tokens[i - 1].ends_line && fits) CHECK(same_line);
      }
      const TextLines::Part part = lines.between(61.0F, 119.0F, measures.line_height);
      CHECK(part.begin == lines.first_of[2]);
      CHECK(part.end == lines.first_of[4]);
      CHECK(lines.between(1e6F, 2e6F, measures.line_height).begin == lines.between(1e6F, 2e6F, measures.line_height).end);
    }
    CHECK(lay_out_text({}, {}, kMeasures).height == 30.0F);
    CHECK(lay_out_text({}, {}, kMeasures).between(0.0F, 100.0F, 30.0F).end == 0);
  }

  TEST_CASE("a text is shaded by differences of either sign, by weights alone as deep as they are") {
    ShadedText shown{.title = "Layer 1", .queries = {}, .keys = {}, .weights = {-0.5F, 0.25F, 0.0F}};
    for (const char* text : {"the seventeenth", "the eighteenth", "three"})
      shown.queries.push_back({.place = {.text = text}});
    const exporting::TextFigure plain = text_figure(shown);
    CHECK(plain.blocks[0].tokens[0].share == 0.0F);
    CHECK(plain.blocks[0].tokens[1].share == 1.0F);
    CHECK_FALSE(plain.blocks[0].tokens[1].color);
    shown.is_difference = true;
    const exporting::TextFigure signs = text_figure(shown);
    const auto& tokens = signs.blocks[0].tokens;
    CHECK(tokens[0].share == 1.0F);
    CHECK(tokens[1].share == 0.5F);
    CHECK(tokens[2].share == 0.0F);
    REQUIRE(tokens[0].color);
    REQUIRE(tokens[1].color);
    CHECK(tokens[0].color->b > tokens[0].color->r);  // less: blue
    CHECK(tokens[1].color->r > tokens[1].color->b);  // more: red
    REQUIRE(signs.blocks[0].numbers.size() == 2);
    CHECK(signs.subtitle.find("red is more, blue less") != std::string::npos);
    CHECK(shade_text(0.25F, true) == "+0.250");
  }

  TEST_CASE("a figure names a chosen part of a character as its label does") {
    const std::vector<text::Token> bytes = {token_at(0, 1), token_at(1, 2), token_at(2, 3)};
    ShadedText shown{.title = "Layer 1",
                     .queries = running_tokens(std::vector<std::string>{"语¦", "¦语", "x"}, bytes, 0),
                     .keys = {},
                     .weights = {0.5F, 0.25F, 0.0F}};
    for (const auto& [token, name] : {std::pair{0U, "“语¦” (token 0)"}, {1U, "“¦语” (token 1)"}, {2U, "“x” (token 2)"}}) {
      shown.chosen = {MapSide::Query, token};
      CHECK(text_figure(shown).subtitle.find(name) != std::string::npos);
    }
  }

  TEST_CASE("the largest numbers of a line have room first, and no two overlap") {
    const std::vector<RunningToken> tokens(8, {.place = {.text = "a"}});
    const std::vector<float> widths(8, 10.0F);
    const TextLines lines = lay_out_text(tokens, widths, kMeasures);
    REQUIRE(lines.line_of.back() == 0);
    const std::vector<float> values = {0.3F, 0.1F, 0.9F, 0.2F, 0.001F, 0.05F, 0.4F, 0.35F};
    const std::vector<float> number_widths(8, 24.0F);
    const std::vector<PlacedNumber> placed = place_numbers(lines, 0, values, number_widths, kMeasures.width, 4.0F, 0.005F);
    REQUIRE(placed.size() >= 3);
    CHECK(placed[0].token == 2);
    CHECK(placed[1].token == 6);
    for (std::size_t i = 0; i < placed.size(); ++i) {
      CHECK(placed[i].token != 4);
      CHECK(placed[i].x >= 0.0F);
      CHECK(placed[i].x + 24.0F <= kMeasures.width);
      for (std::size_t j = i + 1; j < placed.size(); ++j) CHECK(std::abs(placed[i].x - placed[j].x) >= 28.0F);
    }
  }

  TEST_CASE("a number without room in the middle of its token is shifted over it") {
    const std::vector<RunningToken> tokens(2, {.place = {.text = "a"}});
    const TextLines lines = lay_out_text(tokens, std::vector<float>{44.0F, 18.0F}, kMeasures);
    const std::vector<PlacedNumber> placed = place_numbers(lines, 0, std::vector<float>{0.1F, 0.2F},
                                                           std::vector<float>{36.0F, 36.0F}, kMeasures.width, 4.0F, 0.005F);
    REQUIRE(placed.size() == 2);
    CHECK(placed[1].token == 0);
    CHECK(placed[1].x + 40.0F <= placed[0].x);
    CHECK(placed[1].x + 18.0F >= lines.tokens[0].origin.x);
  }
}

}  // namespace running_text_test
