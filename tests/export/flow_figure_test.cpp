#include <doctest/doctest.h>

#include <limits>
#include <string>

#include "core/error.h"
#include "export/figures.h"
#include "support/occurrences.h"

namespace flow_figure_test {

using namespace headlight;
using namespace headlight::exporting;
using headlight::test::count;

namespace {

FlowFigure figure_of(std::size_t tokens) {
  FlowFigure figure;
  figure.title = "What flows into this prediction";
  figure.layers = 2;
  figure.tokens.assign(tokens, "a <b>");
  return figure;
}

std::string svg_of(const FlowFigure& figure) { return encode(*make_drawing(figure), DrawingFormat::Svg); }

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a figure of a flow has a line for each edge, its layers' names, tokens and heads") {
    FlowFigure figure = figure_of(3);
    const std::string without = svg_of(figure);
    figure.edges = {{.layer = 0, .from = 0, .to = 2, .share = 0.5F, .head = 4},
                    {.layer = 1, .from = 2, .to = 2, .share = 0.25F, .is_residual = true}};
    const std::string svg = svg_of(figure);
    CHECK(count(svg, "<line") == count(without, "<line") + 2);
    CHECK(count(svg, "<rect") == count(without, "<rect") + 4);  // three nodes and the head's swatch
    CHECK(count(svg, ">head 4</text>") == 1);
    CHECK(count(svg, ">input</text>") == 1);
    CHECK(count(svg, ">layer 1</text>") == 1);
    CHECK(count(svg, ">layer 2</text>") == 0);
    CHECK(count(svg, "a &lt;b&gt;") == 3);
    CHECK(count(svg, "stroke-width=\"2.5\"") == 1);  // half of the thickest
    CHECK(count(svg, ">several heads</text>") == 0);
    figure.edges.push_back({.layer = 0, .from = 1, .to = 2, .share = 0.125F});
    CHECK(count(svg_of(figure), ">several heads</text>") == 1);
    figure.layer_numbers = {3, 11};
    CHECK(count(svg_of(figure), ">layer 3</text>") == 1);
    CHECK(count(svg_of(figure), ">layer 11</text>") == 1);
    CHECK(make_drawing(figure)->text().find("|11|") != std::string::npos);
  }

  TEST_CASE("what is no number is drawn thin, and no edge leaves the figure") {
    FlowFigure figure = figure_of(2);
    figure.edges = {{.layer = 0, .from = 0, .to = 1, .share = std::numeric_limits<float>::quiet_NaN()}};
    CHECK(count(svg_of(figure), "stroke-width=\"0.6\"") == 1);
    figure.edges = {{.layer = 2, .from = 0, .to = 1, .share = 1.0F}};
    CHECK_THROWS_AS(make_drawing(figure), Error);
    figure.edges = {{.layer = 1, .from = 0, .to = 2, .share = 1.0F}};
    CHECK_THROWS_AS(make_drawing(figure), Error);
    CHECK_THROWS_AS(make_drawing(figure_of(401)), Error);
  }
}

}  // namespace flow_figure_test
