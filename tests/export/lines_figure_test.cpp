#include <doctest/doctest.h>

#include <string>

#include "core/error.h"
#include "export/figures.h"
#include "support/occurrences.h"

namespace lines_figure_test {

using namespace headlight;
using namespace headlight::exporting;
using headlight::test::count;

namespace {

LinesFigure figure_of(std::size_t tokens) {
  LinesFigure figure;
  figure.title = "Layer 3";
  figure.queries.assign(tokens, "quick & \"brown\"");
  figure.keys.assign(tokens, "fox");
  figure.heads = {0, 5};
  return figure;
}

std::string svg_of(const LinesFigure& figure) { return encode(*make_drawing(figure), DrawingFormat::Svg); }

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a drawing becomes an SVG, a PDF or a PNG, by the file's name") {
    LinesFigure figure = figure_of(3);
    figure.lines = {{0, 1, 0, 0.25F}};
    const std::unique_ptr<Drawing> drawing = make_drawing(figure);
    const std::string pdf = encode(*drawing, *drawing_format("lines.pdf"));
    CHECK(pdf.starts_with("%PDF-1."));
    CHECK(pdf.find("%%EOF") != std::string::npos);
    CHECK(pdf.find("/Font") != std::string::npos);  // text stays text
    CHECK(encode(*drawing, *drawing_format("lines.png")).starts_with("\x89PNG"));
    CHECK(encode(*drawing, *drawing_format("lines.svg")) == svg_of(figure));
    CHECK_FALSE(drawing_format("lines.jpg"));
    CHECK(drawing->output().title == "Layer 3");
  }

  TEST_CASE("a figure of lines has a line for each weight, labels as text and a legend") {
    LinesFigure figure = figure_of(3);
    const std::string without = svg_of(figure);
    figure.lines = {{0, 1, 0, 0.25F}, {2, 2, 5, 1.0F}};
    const std::string svg = svg_of(figure);
    CHECK(count(svg, "<line") == count(without, "<line") + 2);
    CHECK(count(svg, ">fox</text>") == 3);
    CHECK(count(svg, "&amp;") == 3);
    CHECK(count(svg, ">head 5</text>") == 1);
    CHECK(count(svg, ">query</text>") == 1);
  }

  TEST_CASE("a weight of 1 has its head's colour, and one of 0 the paper's") {
    LinesFigure figure = figure_of(1);
    figure.lines = {{0, 0, 0, 1.0F}};
    const std::string full = svg_of(figure);
    figure.lines = {{0, 0, 0, 0.0F}};
    const std::string none = svg_of(figure);
    CHECK(count(full, "#0072b2") + count(full, "#0072B2") == 2);  // its line and its legend
    CHECK(count(none, "#0072b2") + count(none, "#0072B2") == 1);
  }

  TEST_CASE("a difference has the colour of its sign, as strong as its size, whatever head it is of") {
    const auto drawn = [](float change, std::uint32_t head) {
      LinesFigure figure = figure_of(1);
      figure.heads.clear();
      figure.is_difference = true;
      figure.lines = {{0, 0, head, change}};
      return svg_of(figure);
    };
    CHECK(drawn(0.5F, 0) == drawn(0.5F, 3));
    CHECK(drawn(0.5F, 0) != drawn(-0.5F, 0));
    CHECK(drawn(0.5F, 0) != drawn(0.25F, 0));
    CHECK(drawn(-0.5F, 0) != drawn(-0.25F, 0));
  }

  TEST_CASE("a line of a token that isn't there, and too many tokens, are refused in one line") {
    LinesFigure figure = figure_of(2);
    figure.lines = {{0, 2, 0, 0.5F}};
    CHECK_THROWS_AS(svg_of(figure), Error);
    CHECK_THROWS_AS(svg_of(figure_of(2001)), Error);
    CHECK_NOTHROW(svg_of(figure_of(0)));
  }
}

}  // namespace lines_figure_test
