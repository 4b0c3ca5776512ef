#include <doctest/doctest.h>

#include <limits>
#include <string>

#include "core/error.h"
#include "export/figures.h"
#include "support/occurrences.h"

namespace score_figure_test {

using namespace headlight;
using namespace headlight::exporting;
using headlight::test::count;

namespace {

ScoreFigure small_score() {
  return {.title = "One score",
          .subtitle = {},
          .components = {"0", "1"},
          .vectors = {{.title = "q", .color = {}, .values = {1.5F, -2.0F}},
                      {.title = "k", .color = {}, .values = {0.5F, 0.25F}}},
          .products = {0.75, -0.5},
          .product_title = "product",
          .lines = {{.name = "sum", .value = "0.25", .calculation = "0.75 − 0.5", .note = "a <note>"}}};
}

std::string svg_of(const ScoreFigure& figure) { return encode(*make_drawing(figure), DrawingFormat::Svg); }

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a figure of a score has every number, a bar for each product and the chain's lines") {
    const std::string svg = svg_of(small_score());
    for (const char* number : {">1.500</text>", ">−2.000</text>", ">0.500</text>", ">0.250</text>", ">0.750</text>",
                               ">−0.500</text>", ">0.25</text>", ">sum</text>", ">a &lt;note&gt;</text>"}) {
      CAPTURE(number);
      CHECK(count(svg, number) == 1);
    }
    ScoreFigure without = small_score();
    without.vectors.clear();
    CHECK(count(svg, "<rect") == count(svg_of(without), "<rect") + 4);  // a cell for each number of q and k
  }

  TEST_CASE("a score whose numbers are missing is refused, and NaN draws no bar") {
    ScoreFigure figure = small_score();
    figure.products.pop_back();
    CHECK_THROWS_AS(make_drawing(figure), Error);
    figure = small_score();
    figure.vectors[1].values.pop_back();
    CHECK_THROWS_AS(make_drawing(figure), Error);
    figure = small_score();
    figure.products[0] = std::numeric_limits<double>::quiet_NaN();
    const std::string svg = svg_of(figure);
    CHECK(count(svg, ">–</text>") == 1);
    CHECK(svg.find("nan") == std::string::npos);
    CHECK_THROWS_AS(make_drawing(ScoreFigure{}), Error);
  }
}

}  // namespace score_figure_test
