#include "export/figure.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>

#include "chart/color.h"
#include "core/error.h"
#include "decoded_png.h"
#include "export/heatmap_figure.h"
#include "support/block_colors.h"

namespace figure_test {

using namespace headlight;
using namespace headlight::exporting;

namespace {

HeatmapFigure make_figure(std::uint32_t rows, std::uint32_t columns) {
  HeatmapFigure figure;
  figure.title = "Layer 0, head 3";
  figure.map.rows = rows;
  figure.map.columns = columns;
  figure.map.values.assign(std::size_t{rows} * columns, 0.0F);
  figure.map.masked.assign(figure.map.values.size(), 0);
  figure.rows = {"query", std::vector<std::string>(rows, "token")};
  figure.columns = {"key", std::vector<std::string>(columns, "token")};
  figure.style.parts.numbers = false;
  return figure;
}

// Colours of all pixels of one cell, without its border.
/// Packed, because glm's colours have no order.
using Colors = std::set<std::uint32_t>;

Colors cell_colors(const HeatmapFigure& figure, std::uint32_t row, std::uint32_t column) {
  const DecodedPng png(encode(figure, DrawingFormat::Png));
  const Rect rect = HeatmapDrawing(figure, 2000).grid().rect(row, column);
  const double scale = figure.style.png_scale;
  Colors colors;
  for (double y = static_cast<double>(rect.origin.y) * scale + 2; y < static_cast<double>(rect.end().y) * scale - 2; ++y) {
    for (double x = static_cast<double>(rect.origin.x) * scale + 2; x < static_cast<double>(rect.end().x) * scale - 2; ++x) {
      colors.insert(chart::pack(png.at(x, y)));
    }
  }
  return colors;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("both axes of a large map count with one step") {
    const HeatmapFigure figure = make_figure(300, 300);
    const std::string svg = encode(figure, DrawingFormat::Svg);
    const auto labels = [&](const std::string& text) {
      std::size_t count = 0;
      for (std::size_t at = 0; (at = svg.find(">" + text + "</text>", at)) != std::string::npos; ++at) ++count;
      return count;
    };
    for (std::uint32_t index = 1; index < 300; ++index) {
      CAPTURE(index);
      CHECK(labels(std::to_string(index)) != 1);  // on both axes, or on none
    }
    CHECK(labels("100") == 2);
  }

  TEST_CASE("size and resolution are the style's") {
    HeatmapFigure figure = make_figure(4, 4);
    figure.map.values.assign(16, 0.25F);
    figure.style.map_edge = 200.0F;
    CHECK(HeatmapDrawing(figure, 2000).grid().area.size.x == doctest::Approx(200.0F));
    const double usual = DecodedPng(encode(figure, DrawingFormat::Png)).width;
    figure.style.png_scale = 4.0;
    CHECK(DecodedPng(encode(figure, DrawingFormat::Png)).width == doctest::Approx(2.0 * usual).epsilon(0.01));
    figure.style.png_scale = 2.0;
    figure.style.map_edge = 40.0F;  // fewer pixels than cells: pooled, so that no peak is lost
    figure.map = make_figure(300, 300).map;
    CHECK(HeatmapDrawing(figure, 80).grid().area.size.x == doctest::Approx(40.0F));
    CHECK_NOTHROW(encode(figure, DrawingFormat::Png));
  }

  TEST_CASE("every cell has exactly its value's colour") {
    HeatmapFigure figure = make_figure(2, 3);
    figure.map.values = {0.0F, 0.25F, 0.75F, 1.0F, 0.5F, 0.0F};
    for (const chart::ColorMap map : chart::kColorMaps) {
      figure.style.color_map = map;
      for (std::uint32_t row = 0; row < 2; ++row) {
        for (std::uint32_t column = 0; column < 3; ++column) {
          CHECK(cell_colors(figure, row, column) == Colors{chart::pack(chart::color(map, figure.map.at(row, column)))});
        }
      }
    }
  }

  TEST_CASE("NaN and infinities have a colour of their own, unless masked, also where values are pooled") {
    HeatmapFigure figure = make_figure(2, 3);
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();
    figure.map.values = {kNan, kInfinity, 0.5F, -kInfinity, kNan, 0.0F};
    figure.map.masked[4] = 1;
    const Colors odd{chart::kNotFinitePacked};
    CHECK(cell_colors(figure, 0, 0) == odd);
    CHECK(cell_colors(figure, 0, 1) == odd);
    CHECK(cell_colors(figure, 0, 2) != odd);
    CHECK(cell_colors(figure, 1, 0) == odd);
    CHECK(!cell_colors(figure, 1, 1).contains(chart::kNotFinitePacked));
    CHECK(cell_colors(figure, 1, 2) != odd);
    // A note below explains the colour as long as a cell has it.
    const auto says_it = [&] {
      return encode(figure, DrawingFormat::Svg).find("Magenta: NaN or infinite.") != std::string::npos;
    };
    CHECK(says_it());
    figure.map.values = {0.5F, 0.5F, 0.5F, 0.5F, kNan, 0.0F};
    CHECK_FALSE(says_it());
    figure.map.values = {kNan, kInfinity, 0.5F, -kInfinity, kNan, 0.0F};

    FigureMap large{.rows = 100, .columns = 100, .values = std::vector<float>(10'000, 0.25F), .masked = {}};
    large.values[5 * 100 + 7] = kNan;
    const FigureMap coarse = pooled(large, 50);
    CHECK(std::isnan(coarse.at(2, 3)));
    CHECK(coarse.at(2, 4) == 0.25F);
  }

  TEST_CASE("scales: by row, by the map's maximum, symmetric without fills") {
    HeatmapFigure figure = make_figure(2, 2);
    figure.map.values = {0.1F, 0.2F, 0.4F, 0.3F};
    figure.style.scale = chart::ScaleKind::PerRow;
    CHECK(cell_colors(figure, 0, 1) == Colors{chart::pack(chart::color(chart::ColorMap::Viridis, 1.0F))});
    CHECK(cell_colors(figure, 0, 0) == Colors{chart::pack(chart::color(chart::ColorMap::Viridis, 0.5F))});
    figure.style.scale = chart::ScaleKind::Maximum;
    CHECK(cell_colors(figure, 0, 1) == Colors{chart::pack(chart::color(chart::ColorMap::Viridis, 0.5F))});
    figure.map.values = {-1e9F, 2.0F, 0.0F, -2.0F};
    figure.map.masked[0] = 1;
    figure.style = diverging(figure.style);
    CHECK(cell_colors(figure, 0, 1) == Colors{chart::pack(chart::color(chart::ColorMap::BlueRed, 1.0F))});
    CHECK(cell_colors(figure, 1, 0) == Colors{chart::pack(chart::color(chart::ColorMap::BlueRed, 0.5F))});
    CHECK(FigureStyle{}.color_map == chart::ColorMap::Viridis);
  }

  TEST_CASE("masked and zero differ: stripes on the blank colour, on both papers and in large maps") {
    for (const bool is_dark : {false, true}) {
      for (const std::uint32_t n : {3U, 100U}) {
        HeatmapFigure figure = make_figure(n, n);
        figure.style.is_dark = is_dark;
        std::fill(figure.map.masked.begin() + n, figure.map.masked.begin() + 2 * n, std::uint8_t{1});
        figure.marks_empty_rows = false;
        const Paper paper = paper_of(figure.style);
        Colors masked;  // a small cell may be between two stripes, a row can't
        for (std::uint32_t column = 0; column < 3; ++column) masked.merge(cell_colors(figure, 1, column));
        CHECK(masked.contains(chart::pack(paper.blank)));
        CHECK(masked.size() > 1);
        CHECK_FALSE(masked.contains(chart::pack(chart::color(chart::ColorMap::Viridis, 0.0F))));
        CHECK(cell_colors(figure, 0, 0) == Colors{chart::pack(chart::color(chart::ColorMap::Viridis, 0.0F))});
      }
    }
  }

  TEST_CASE("a masked cell that has a weight shows its colour under the stripes") {
    HeatmapFigure figure = make_figure(1, 2);  // a fully masked row under a finite fill
    figure.map.values = {0.5F, 0.5F};
    figure.map.masked = {1, 1};
    const Colors colors = cell_colors(figure, 0, 0);
    CHECK(colors.contains(chart::pack(chart::color(chart::ColorMap::Viridis, 0.5F))));
    CHECK(colors.size() > 1);
    CHECK_FALSE(figure.map.is_without_weights(0));
  }

  TEST_CASE("only cells that have room show numbers") {
    HeatmapFigure figure = make_figure(4, 4);
    figure.map.values.assign(16, 0.25F);
    CHECK(cell_colors(figure, 0, 0).size() == 1);
    figure.style.parts.numbers = true;
    CHECK(cell_colors(figure, 0, 0).size() > 5);  // antialiased digits
    HeatmapFigure many = make_figure(60, 60);
    many.style.parts.numbers = true;
    CHECK(cell_colors(many, 30, 30).size() == 1);
  }

  TEST_CASE("a figure looks as stored, and other colours do not") {
    HeatmapFigure figure = make_figure(12, 12);
    for (std::uint32_t row = 0; row < 12; ++row) {
      for (std::uint32_t column = 0; column < 12; ++column) {
        const std::size_t cell = std::size_t{row} * 12 + column;
        figure.map.masked[cell] = column > row ? 1 : 0;
        if (column <= row) figure.map.values[cell] = static_cast<float>(column + 1) / 12.0F;
      }
    }
    const auto colors_of = [](const DecodedPng& png) {
      return test::BlockColors(static_cast<std::uint32_t>(png.width), static_cast<std::uint32_t>(png.height),
                               [&](std::uint32_t x, std::uint32_t y) {
                                 const Rgb color = png.at(x, y);
                                 return test::BlockColors::Rgb{color.r, color.g, color.b};
                               });
    };
    const test::BlockColors found = colors_of(DecodedPng(encode(figure, DrawingFormat::Png)));
    const test::ColorDifference off = test::difference_from_stored("figure", found);
    INFO("mean ", off.mean, ", most ", off.most);
    CHECK(off.mean < 1.0);   // observed 0
    CHECK(off.most < 64.0);  // observed 0; text moves by a pixel with other fonts
    figure.style.color_map = chart::ColorMap::Magma;
    CHECK(test::difference(found, colors_of(DecodedPng(encode(figure, DrawingFormat::Png)))).mean > 3.0);  // observed 21
  }

  TEST_CASE("rows without weights say so") {
    HeatmapFigure figure = make_figure(3, 3);
    for (std::size_t i = 3; i < 6; ++i) figure.map.masked[i] = 1;
    const std::string marked = encode(figure, DrawingFormat::Svg);
    CHECK(marked.find(">no weights</text>") != std::string::npos);
    figure.marks_empty_rows = false;
    CHECK(encode(figure, DrawingFormat::Svg).find("no weights") == std::string::npos);
    HeatmapFigure large = make_figure(300, 300);  // rows too thin for words are listed below
    for (std::size_t i = 300; i < 600; ++i) large.map.masked[i] = 1;
    CHECK(encode(large, DrawingFormat::Svg).find("No weights (everything masked) in query 1<") != std::string::npos);
  }

  TEST_CASE("thousands of tokens are pooled so that a single peak stays") {
    HeatmapFigure figure = make_figure(4096, 4096);
    figure.map.values[std::size_t{1234} * 4096 + 3210] = 1.0F;
    const DecodedPng png(encode(figure, DrawingFormat::Png));
    CHECK(png.width <= 2600);
    CHECK(png.height <= 2600);
    const CellGrid grid = HeatmapDrawing(figure, 2000).grid();
    const Rect rect = grid.rect(1234 / 3, 3210 / 3);
    CHECK(png.at(double{rect.center().x} * 2, double{rect.center().y} * 2) == chart::color(chart::ColorMap::Viridis, 1.0F));
    CHECK(encode(figure, DrawingFormat::Svg).find("Each point is the largest of 3 × 3 cells.") != std::string::npos);
  }

  TEST_CASE("pooling: the largest for weights, the mean of visible numbers for scores, masked only where all are") {
    FigureMap map{.rows = 3,
                  .columns = 4,
                  .values = {1, 2, 3, 4, 5, 6, 7, -1e9F, 9, 10, 11, 12},
                  .masked = std::vector<std::uint8_t>(12, 0)};
    map.masked[7] = map.masked[8] = map.masked[9] = 1;
    const FigureMap largest = pooled(map, 2);
    CHECK(largest.pool == 2);
    CHECK(largest.values == std::vector<float>{6, 7, 10, 12});
    CHECK(largest.masked == std::vector<std::uint8_t>{0, 0, 1, 0});
    map.pools_by_maximum = false;
    CHECK(pooled(map, 2).values == std::vector<float>{3.5F, 14.0F / 3, 10, 11.5F});
    CHECK(pooled(map, 4).values == map.values);
  }

  TEST_CASE("few rows of many columns are pooled by columns alone, can be told apart and are named") {
    HeatmapFigure figure;
    figure.map = {.rows = 9, .columns = 1500, .values = {}, .masked = {}};
    figure.rows.title = "output token";
    figure.columns.title = "frame";
    for (std::uint32_t row = 0; row < 9; ++row) {
      figure.rows.tokens.push_back("row " + std::to_string(row));
      for (std::uint32_t column = 0; column < 1500; ++column)
        figure.map.values.push_back(column == 100 * row + 50 ? 1.0F : 0.01F * static_cast<float>(row));
    }
    const FigureMap coarse = pooled(figure.map, 1000);
    CHECK(coarse.pool == 1);
    CHECK(coarse.column_pool() == 2);
    CHECK(coarse.value_rows() == 9);
    CHECK(coarse.value_columns() == 750);
    for (std::uint32_t row = 0; row < 9; ++row) CHECK(coarse.at(row, (100 * row + 50) / 2) == 1.0F);
    const HeatmapDrawing drawing(figure, 1000);
    CHECK(drawing.grid().value.y >= 14.0F);
    CHECK(drawing.grid().area.size.x <= 1000.0F);
    const std::string svg = encode(figure, DrawingFormat::Svg);
    for (const std::string& token : figure.rows.tokens) CHECK(svg.find(">" + token + "</text>") != std::string::npos);
    ContactSheet sheet;
    sheet.panels = {{"head 0", figure.map}, {"head 1", figure.map}};
    const std::string png = encode(sheet, DrawingFormat::Png);
    CHECK(png.starts_with("\x89PNG"));
    CHECK(encode(sheet, DrawingFormat::Svg).find("Each point is the largest of 1 × ") != std::string::npos);
  }

  TEST_CASE("a tile from the GPU is drawn as it is, pooled or not") {
    attention::Tile tile;
    tile.request = {.rows = 5, .columns = 4, .pool = 2};
    tile.values.assign(6, 0.5F);
    HeatmapFigure figure;
    figure.map = make_map(tile);
    CHECK(figure.map.value_rows() == 3);
    CHECK(encode(figure, DrawingFormat::Svg).find("largest of 2 × 2 cells") != std::string::npos);
  }

  TEST_CASE("the image grows with its scale, the dark one is dark") {
    HeatmapFigure figure = make_figure(3, 3);
    const DecodedPng twice(encode(figure, DrawingFormat::Png));
    CHECK(twice.at(1, 1) == Rgb{255, 255, 255});
    figure.style.png_scale = 1.0;
    figure.style.is_dark = true;
    const DecodedPng once(encode(figure, DrawingFormat::Png));
    CHECK(twice.width == 2 * once.width);
    CHECK(chart::lightness(once.at(1, 1)) < 0.3F);
  }

  TEST_CASE("a figure that can't be drawn or written is refused in one line") {
    HeatmapFigure figure = make_figure(2, 2);
    figure.map.values.pop_back();
    CHECK_THROWS_WITH_AS(encode(figure, DrawingFormat::Png), doctest::Contains("needs 4 values, it got 3 values"), Error);
    CHECK_THROWS_WITH_AS(encode(HeatmapFigure{}, DrawingFormat::Svg), "a figure needs at least one row and one column",
                         Error);
    HeatmapFigure huge = make_figure(70, 70);
    huge.style.png_scale = 0.0;
    CHECK_THROWS_WITH_AS(encode(huge, DrawingFormat::Png), "a PNG scale of 0 is out of range; choose one from 0.1 to 20",
                         Error);
  }
}

}  // namespace figure_test
