#include "export/figures.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "core/error.h"

namespace text_figure_test {

using namespace headlight;
using namespace headlight::exporting;

namespace {

TextFigure::Token token_at(float x, std::string text, float share) {
  return {.rect = {.origin = {x, 0.0F}, .size = {40.0F, 18.0F}}, .text = std::move(text), .share = share};
}

TextFigure figure() {
  TextFigure figure{.title = "Layer 3", .subtitle = "what \u201Cmat\u201D attends to", .blocks = {}};
  TextFigure::Block block{.caption = "keys", .color = {200, 0, 0}, .tokens = {}, .numbers = {}, .height = 40.0F};
  block.tokens = {token_at(0.0F, "the", 0.0F), token_at(44.0F, "cat & dog", 1.0F), token_at(88.0F, "sat", 0.5F)};
  block.tokens[2].is_outlined = true;
  block.numbers = {{.at = {44.0F, 12.0F}, .text = "0.75"}};
  figure.blocks.push_back(block);
  return figure;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("running text has a shade for each weight, an outline for the chosen token, and its numbers") {
    const std::string svg = encode(*make_drawing(figure()), DrawingFormat::Svg);
    for (const char* part : {">the</text>", ">cat &amp; dog</text>", ">0.75</text>", ">keys</text>"}) {
      CAPTURE(part);
      CHECK(svg.find(part) != std::string::npos);
    }
    TextFigure plain = figure();
    for (TextFigure::Token& token : plain.blocks[0].tokens) token.share = 0.0F;
    plain.blocks[0].tokens[2].is_outlined = false;
    const std::string without = encode(*make_drawing(plain), DrawingFormat::Svg);
    CHECK(svg.size() > without.size());
    CHECK(encode(*make_drawing(figure()), DrawingFormat::Pdf).starts_with("%PDF-"));
    CHECK(encode(*make_drawing(TextFigure()), DrawingFormat::Png).starts_with("\x89PNG"));
  }

  TEST_CASE("a text that no figure has room for is refused in one line") {
    TextFigure figure;
    figure.blocks.resize(1);
    figure.blocks[0].tokens.resize(20'001);
    CHECK_THROWS_AS(make_drawing(figure), Error);
  }
}

}  // namespace text_figure_test
