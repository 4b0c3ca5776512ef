#include <doctest/doctest.h>

#include <string>

#include "core/error.h"
#include "export/figures.h"
#include "support/occurrences.h"

namespace diagram_figure_test {

using namespace headlight;
using namespace headlight::exporting;
using headlight::test::count;

namespace {

DiagramFigure small_diagram() {
  DiagramFigure figure;
  figure.title = "A layer";
  figure.area = {400.0F, 150.0F};
  DiagramFigure::Node from{.box = {{0.0F, 0.0F}, {180.0F, 150.0F}},
                           .cells = {{0.0F, 36.0F}, {100.0F, 50.0F}},
                           .symbol = "K^T",
                           .title = "keys",
                           .operation = "X · W_{QK} + b"};
  from.map = {.rows = 1, .columns = 2, .values = {0.25F, 0.75F}, .masked = {}};
  from.style.scale = chart::ScaleKind::Maximum;
  DiagramFigure::Node to{.box = {{200.0F, 0.0F}, {180.0F, 150.0F}},
                         .cells = {{200.0F, 36.0F}, {100.0F, 50.0F}},
                         .symbol = "m",
                         .title = "MLP",
                         .operation = ""};
  to.map = {.rows = 2, .columns = 1, .values = {0.5F, 1.0F}, .masked = {}};
  to.style.scale = chart::ScaleKind::Maximum;
  figure.nodes = {from, to};
  figure.arrows = {{.points = {{100.0F, 60.0F}, {150.0F, 60.0F}, {200.0F, 60.0F}}, .color = {1, 2, 3}}};
  return figure;
}

std::string svg_of(const DiagramFigure& figure) { return encode(*make_drawing(figure), DrawingFormat::Svg); }

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a diagram has matrices with their sizes and ends of colours, formulas, and arrows with heads") {
    const std::string svg = svg_of(small_diagram());
    CHECK(count(svg, ">1 × 2: 0 … 0.750</text>") == 1);
    for (const char* part : {">K</text>", ">T</text>", ">QK</text>", "> + b</text>", ">keys</text>", ">MLP</text>"}) {
      CAPTURE(part);
      CHECK(count(svg, part) == 1);
    }
    DiagramFigure without = small_diagram();
    without.arrows.clear();
    CHECK(count(svg, "<line") == count(svg_of(without), "<line") + 4);  // two parts and two sides of the head
    without.nodes[0].map.values = {0.75F, 0.25F};
    CHECK(svg_of(without) != svg);
  }

  TEST_CASE("formulas that end in a script's mark, or in an open brace, are drawn as far as they go") {
    for (const char* formula : {"_", "a^", "x_{q", "^{}", "√_é"}) {
      CAPTURE(formula);
      DiagramFigure figure = small_diagram();
      figure.nodes[0].symbol = formula;
      CHECK(svg_of(figure).find("</svg>") != std::string::npos);
    }
  }

  TEST_CASE("a diagram whose numbers are missing, or that is too large, is refused") {
    DiagramFigure figure = small_diagram();
    figure.nodes[0].map.values.pop_back();
    CHECK_THROWS_AS(make_drawing(figure), Error);
    figure = small_diagram();
    figure.area.x = 5'000.0F;
    CHECK_THROWS_AS(make_drawing(figure), Error);
  }
}

}  // namespace diagram_figure_test
