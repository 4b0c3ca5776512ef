// Dots and lines by two numbers: where they are, and what is refused.
#include <doctest/doctest.h>

#include <limits>
#include <regex>
#include <string>
#include <vector>

#include "core/error.h"
#include "export/figures.h"
#include "support/occurrences.h"

namespace dots_figure_test {

using namespace headlight;
using namespace headlight::exporting;
using headlight::test::count;

namespace {

DotsFigure figure_of(std::vector<glm::dvec2> places) {
  DotsFigure figure;
  figure.title = "Heads";
  for (const glm::dvec2& place : places) figure.dots.push_back({.at = place, .color = 1.0F});
  return figure;
}

std::string svg_of(const DotsFigure& figure) { return encode(*make_drawing(figure), DrawingFormat::Svg); }

/// The centres of the dots, whose edge is 5 units, in the order of drawing.
std::vector<glm::dvec2> centers(const std::string& svg) {
  static const std::regex kDot(R"re(<rect x="([-0-9.]+)" y="([-0-9.]+)" width="5" height="5" fill="#)re");
  std::vector<glm::dvec2> found;
  for (std::sregex_iterator dot(svg.begin(), svg.end(), kDot), end; dot != end; ++dot)
    found.emplace_back(std::stod((*dot)[1]) + 2.5, std::stod((*dot)[2]) + 2.5);
  return found;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("dots are where their numbers say: larger ones further right and up, in proportion") {
    const std::vector<glm::dvec2> dots = centers(svg_of(figure_of({{0.0, 10.0}, {1.0, 10.0}, {4.0, 30.0}})));
    REQUIRE(dots.size() == 3);
    CHECK(dots[0].y == dots[1].y);
    CHECK(dots[2].y < dots[0].y);
    CHECK(dots[2].x - dots[0].x == doctest::Approx(4.0 * (dots[1].x - dots[0].x)).epsilon(1e-3));  // observed 0.0
    // Air of 6 % of the range on each side of a plot of 460 by 340 units.
    CHECK(dots[2].x - dots[0].x == doctest::Approx(460.0 / 1.12).epsilon(1e-3));
    CHECK(dots[0].y - dots[2].y == doctest::Approx(340.0 / 1.12).epsilon(1e-3));
  }

  TEST_CASE("a path joins its points below the dots, and widens the axes") {
    DotsFigure figure = figure_of({{1.0, 1.0}});
    figure.paths.push_back({.points = {{0.0, 0.0}, {1.0, 1.0}, {2.0, 4.0}}, .color = 0.0F, .is_bold = true});
    const std::string svg = svg_of(figure);
    CHECK(count(svg, "stroke-width=\"2\"") == 2);
    CHECK(svg.rfind("stroke-width=\"2\"") < svg.find("width=\"5\" height=\"5\""));
    CHECK(centers(svg).at(0).x == doctest::Approx(centers(svg_of(figure_of({{1.0, 1.0}}))).at(0).x).epsilon(1e-3));
  }

  TEST_CASE("a logarithmic axis has the data's numbers in words, and 0 half a decade before the first of them") {
    DotsFigure figure;
    figure.title = "Entropy";
    figure.x_title = "step";
    figure.y_title = "entropy";
    figure.is_log_x = true;
    figure.paths = {{.points = {{0.0, 1.5}, {10.0, 1.25}, {1000.0, 0.5}}, .name = "L0 H1"},
                    {.points = {{10.0, 2.0}}, .name = "L1 H0"}};
    for (const glm::dvec2& point : figure.paths[0].points) figure.dots.push_back({.at = point});
    const std::vector<glm::dvec2> dots = centers(svg_of(figure));
    REQUIRE(dots.size() == 3);
    CHECK(dots[2].x - dots[1].x == doctest::Approx(4.0 * (dots[1].x - dots[0].x)).epsilon(1e-3));
    const std::string words = make_drawing(figure)->text();
    CHECK(words.find("|entropy \\ step|0|10|1000|\n") != std::string::npos);
    CHECK(words.find("|L0 H1|1.5|1.25|0.5|\n|L1 H0||2||\n") != std::string::npos);
  }

  TEST_CASE("names are beside their dots on the inner side, and ticks that are given take the place of round numbers") {
    DotsFigure figure = figure_of({{0.0, 0.0}, {1.0, 1.0}});
    for (DotsFigure::Dot& dot : figure.dots) dot.is_named = true;
    figure.dots[0].name = "L0 H1";
    figure.dots[1].name = "L2 <b>";
    figure.x_ticks = {{0.5, "step 10"}};
    const std::string svg = svg_of(figure);
    CHECK(count(svg, ">L0 H1</text>") == 1);
    CHECK(count(svg, ">L2 &lt;b&gt;</text>") == 1);
    CHECK(count(svg, "text-anchor=\"end\"") >= 1);
    CHECK(count(svg, ">step 10</text>") == 1);
    figure.style.parts.labels = false;
    CHECK(count(svg_of(figure), ">L0 H1</text>") == 0);
  }

  TEST_CASE("places that aren't finite and figures without a dot are refused") {
    CHECK_THROWS_AS(make_drawing(DotsFigure{}), Error);
    CHECK_THROWS_AS(make_drawing(figure_of({{0.0, std::numeric_limits<double>::quiet_NaN()}})), Error);
    DotsFigure figure = figure_of({{0.0, 0.0}});
    figure.paths.push_back({.points = {{std::numeric_limits<double>::infinity(), 0.0}}});
    CHECK_THROWS_AS(make_drawing(figure), Error);
  }
}

}  // namespace dots_figure_test
