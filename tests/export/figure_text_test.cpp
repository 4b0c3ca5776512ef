#include "export/figure_text.h"

#include <doctest/doctest.h>

#include <limits>
#include <memory>

namespace figure_text_test {

using namespace headlight;
using namespace headlight::exporting;

namespace {

HeatmapFigure map_of(std::uint32_t rows, std::uint32_t columns) {
  HeatmapFigure figure;
  figure.title = "a title";
  figure.subtitle = "settings";
  figure.map.rows = rows;
  figure.map.columns = columns;
  for (std::uint32_t i = 0; i < rows * columns; ++i) {
    figure.map.values.push_back(static_cast<float>(i) / 8.0F);
    figure.map.masked.push_back(0);
  }
  figure.rows = {.title = "query", .tokens = {}};
  figure.columns = {.title = "key", .tokens = {}};
  return figure;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a small map is a table of all its numbers, in which a token breaks nothing") {
    HeatmapFigure figure = map_of(2, 2);
    figure.rows.tokens = {"a", "b|c\n"};
    figure.map.masked[1] = 1;
    CHECK(make_drawing(figure, DrawingFormat::Svg)->text() ==
          "## a title\n\nsettings\n\nattention weight: 2 × 2 (query × key). \n\n"
          "|query \\ key|0|1|\n|---|---|---|\n|a (0)|0|masked|\n|b\\|c␊ (1)|0.25|0.375|\n");
  }

  TEST_CASE("of a large map each row has its largest, by size, and rows beyond a hundred are counted") {
    HeatmapFigure figure = map_of(3, 17);
    figure.columns.tokens = std::vector<std::string>(17, "k");
    figure.map.values[5] = -9.0F;
    CHECK(in_words(figure).find("- 0: -9 of k (5), 2 of k (16), 1.875 of k (15)\n") != std::string::npos);
    figure.map.values[7] = std::numeric_limits<float>::quiet_NaN();
    CHECK(in_words(figure).find("- 0: nan of k (7), -9 of k (5), 2 of k (16)\n") != std::string::npos);
    const std::string text = in_words(map_of(127, 17));
    CHECK(text.find("- 99: ") != std::string::npos);
    CHECK(text.find("- 100: ") == std::string::npos);
    CHECK(text.ends_with("- and 27 rows more\n"));
  }

  TEST_CASE("axes with numbers in place of tokens name the size that names them, which does") {
    HeatmapFigure figure = map_of(120, 120);
    figure.rows.tokens = figure.columns.tokens = std::vector<std::string>(120, "token");
    for (const float width : {0.0F, 84.0F * kUnitsPerMillimetre}) {
      figure.style.width = width;
      figure.style.map_edge = width == 0.0F ? 0.0F : 40.0F * kUnitsPerMillimetre;
      CAPTURE(width);
      const std::vector<std::string> notes = notes_of(*make_drawing(figure, DrawingFormat::Svg));
      REQUIRE(notes.size() == 1);
      const std::string flag = width == 0.0F ? "--size " : "--width ";
      const std::size_t at = notes.front().find(flag);
      REQUIRE(at != std::string::npos);
      const float named_mm = std::stof(notes.front().substr(at + flag.size()));
      if (width > 0.0F) continue;  // export looks for the map that fits
      figure.style.map_edge = named_mm * kUnitsPerMillimetre;
      CHECK(notes_of(*make_drawing(figure, DrawingFormat::Svg)).empty());
      figure.style.map_edge = (named_mm - 2.0F) * kUnitsPerMillimetre;
      CHECK_FALSE(notes_of(*make_drawing(figure, DrawingFormat::Svg)).empty());
    }
    figure.rows.tokens.clear();
    figure.columns.tokens.clear();
    CHECK(notes_of(*make_drawing(figure, DrawingFormat::Svg)).empty());  // there are none to name
  }

  TEST_CASE("characters that no font has are a note, with what has them") {
    HeatmapFigure figure = map_of(2, 2);
    figure.rows.tokens = {"a", "\u0378"};  // a character that isn't assigned
    const std::vector<std::string> notes = notes_of(*make_drawing(figure, DrawingFormat::Svg));
    REQUIRE(notes.size() == 1);
    CHECK(notes.front().starts_with("No installed font has U+0378"));
  }

  TEST_CASE("sheets, pages, lines and edges name what is strongest first") {
    ContactSheet sheet;
    sheet.panels = {{.title = "head 3", .map = map_of(2, 2).map}};
    CHECK(in_words(sheet) ==
          "attention weight, query → key, the largest of each map:\n\n- head 3: 0.375 of 1 → 1, 0.25 of 1 → 0, 0.125 of 0 → "
          "1\n");
    PanelsFigure page;
    page.panels = {map_of(1, 1), map_of(1, 1)};
    page.panels[1].title = "second";
    const std::string pages = make_drawing(page)->text();
    CHECK(pages.find("### a title\n") < pages.find("### second\n"));
    CHECK(pages.find("|0|0|") != std::string::npos);
    HeatmapFigure heads = map_of(2, 2);
    heads.rows.title = "layer";
    heads.rows.tokens = {"3", "11"};
    CHECK(make_drawing(heads, DrawingFormat::Svg)->text().find("\n|11|") != std::string::npos);  // its place isn't named
    LinesFigure lines;
    lines.queries = {"a", "b"};
    lines.keys = {"c"};
    lines.lines = {{.query = 0, .key = 0, .head = 1, .weight = 0.25F}, {.query = 1, .key = 0, .head = 2, .weight = 0.5F}};
    CHECK(in_words(lines) ==
          "|head|query|key|weight|\n|---|---|---|---|\n|2|b (1)|c (0)|0.5|\n|1|a (0)|c (0)|0.25|\n\n2 lines in all\n");
    FlowFigure flow;
    flow.tokens = {"a", "b"};
    flow.edges = {{.layer = 0, .from = 0, .to = 1, .share = 0.25F, .head = 7},
                  {.layer = 1, .from = 1, .to = 1, .share = 0.75F, .is_residual = true}};
    CHECK(in_words(flow).find("|1|b (1)|b (1)|residual stream|0.75||\n|0|a (0)|b (1)|head 7|0.25||\n") != std::string::npos);
  }

  TEST_CASE("what is text in a figure is read line by line") {
    ScoreFigure figure;
    figure.title = "Score";
    figure.components = {"0", "1"};
    figure.vectors = {{.title = "q", .color = {}, .values = {1.0F, 2.0F}},
                      {.title = "k", .color = {}, .values = {3.0F, 4.0F}}};
    figure.products = {3.0, 8.0};
    figure.product_title = "q·k";
    const std::string text = make_drawing(figure)->text();
    INFO(text);
    CHECK(text.find("i\tq\tk\tq·k\n") != std::string::npos);
    CHECK(text.find("Score\n") < text.find("i\tq"));
  }
}

}  // namespace figure_text_test
