#include <doctest/doctest.h>

#include <limits>
#include <string>

#include "core/error.h"
#include "export/figures.h"
#include "support/occurrences.h"

namespace predictions_figure_test {

using namespace headlight;
using namespace headlight::exporting;
using headlight::test::count;

namespace {

std::string svg_of(const PredictionsFigure& figure) { return encode(*make_drawing(figure), DrawingFormat::Svg); }

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a figure of predictions has a bar for each token, as long as its share, and a cell for each reading") {
    PredictionsFigure figure;
    figure.bars = {
        {.token = "a <b>", .share = 0.5}, {.token = "c", .share = 0.25}, {.token = "d", .share = 0.1, .is_cut = true}};
    figure.rest = 0.25;
    figure.layers = {
        {.name = "output", .readings = {{.token = "a <b>", .probability = 0.5}, {.token = "c", .probability = 0.25}}},
        {.name = "input", .readings = {{.token = "e", .probability = 0.00012}}}};
    const std::string svg = svg_of(figure);
    CHECK(count(svg, ">a &lt;b&gt;</text>") == 2);
    CHECK(count(svg, ">50.0 %</text>") == 2);
    CHECK(count(svg, ">25.0 %</text>") == 2);
    CHECK(count(svg, ">cut off</text>") == 1);
    CHECK(count(svg, ">all others 25.0 %</text>") == 1);
    CHECK(count(svg, ">0.012 %</text>") == 1);
    CHECK(count(svg, ">input</text>") == 1);
    const auto width_of = [&](double share) {
      PredictionsFigure one;
      one.bars = {{.token = "c", .share = share}};
      one.style.parts.numbers = false;
      const std::string drawn = svg_of(one);
      const std::size_t bar = drawn.rfind("<rect"), at = drawn.find("width=\"", bar) + 7;
      return std::stod(drawn.substr(at));
    };
    CHECK(width_of(0.5) == doctest::Approx(2.0 * width_of(0.25)).epsilon(0.01));
    CHECK(width_of(std::numeric_limits<double>::quiet_NaN()) == 1.0);
    CHECK(width_of(7.0) == width_of(1.0));
  }

  TEST_CASE("a figure of predictions without a token, or with too many, is refused") {
    PredictionsFigure figure;
    CHECK_THROWS_AS(make_drawing(figure), Error);
    figure.bars.resize(201);
    CHECK_THROWS_AS(make_drawing(figure), Error);
  }
}

}  // namespace predictions_figure_test
