#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

#include "chart/number_format.h"
#include "core/error.h"
#include "export/figures.h"
#include "support/occurrences.h"

namespace products_figure_test {

using namespace headlight;
using namespace headlight::exporting;
using headlight::test::count;

namespace {

ProductsFigure small_products() {
  return {.title = "Some products",
          .subtitle = {},
          .components = {"1", "0"},
          .rows = {{.index = "0", .name = "the <b>", .products = {0.5F, -2.0F}, .score = -1.5F, .weight = 0.25F},
                   {.index = "1", .name = "cat", .products = {0.125F, 0.75F}, .score = 0.875F, .weight = 0.75F},
                   {.index = "2", .name = "sat", .products = {0.0F, 0.25F}, .score = 0.25F, .is_masked = true}}};
}

std::string svg_of(const ProductsFigure& figure) { return encode(*make_drawing(figure), DrawingFormat::Svg); }

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a figure of products has every key with its score and weight, a cell for each product, and the colours' ends") {
    const std::string svg = svg_of(small_products());
    for (const char* text : {">the &lt;b&gt;</text>", ">−1.500</text>", ">0.875</text>", ">0.750</text>", ">masked</text>",
                             ">cat</text>", ">score</text>", ">weight</text>"}) {
      CAPTURE(text);
      CHECK(count(svg, text) == 1);
    }
    CHECK(svg.find(">" + chart::format_number(-2.0F, 7) + "</text>") != std::string::npos);  // the ends of the colours
    CHECK(svg.find(">" + chart::format_number(2.0F, 6) + "</text>") != std::string::npos);
    CHECK(count(svg, ">0.250</text>") == 2);  // a weight, and a masked key's score
    ProductsFigure fewer = small_products();
    fewer.components.pop_back();
    for (ProductsFigure::Row& row : fewer.rows) row.products.pop_back();
    CHECK(count(svg, "<rect") == count(svg_of(fewer), "<rect") + 3);  // a cell for each key
    ProductsFigure turned = small_products();
    for (float& product : turned.rows[0].products) product = -product;
    CHECK(svg_of(turned) != svg);  // colours have signs
  }

  TEST_CASE("many products are an image, and numbers that are missing or too many are refused") {
    ProductsFigure figure = small_products();
    figure.components.assign(64, "7");
    figure.rows.assign(65, {.index = "0", .name = "a", .products = std::vector<float>(64, 1.0F)});
    CHECK(count(svg_of(figure), "<image") == 1);
    figure.rows.pop_back();
    CHECK(count(svg_of(figure), "<image") == 0);
    figure.rows.assign(kMaxProductRows + 1, figure.rows.front());
    CHECK_THROWS_AS(make_drawing(figure), Error);
    figure = small_products();
    figure.rows[1].products.pop_back();
    CHECK_THROWS_AS(make_drawing(figure), Error);
    CHECK_THROWS_AS(make_drawing(ProductsFigure{}), Error);
  }

  TEST_CASE("what isn't finite has no colour of the scale and no bar, and its place says so") {
    ProductsFigure figure = small_products();
    figure.rows[0].products[0] = std::numeric_limits<float>::quiet_NaN();
    figure.rows[0].weight = std::numeric_limits<float>::quiet_NaN();
    figure.rows[1].score = -std::numeric_limits<float>::infinity();
    const std::string svg = svg_of(figure);
    CHECK(svg.find("nan") == std::string::npos);
    CHECK(svg.find("inf") == std::string::npos);
    CHECK(count(svg, ">–</text>") == 1);
    CHECK(count(svg, ">−∞</text>") == 1);
  }
}

}  // namespace products_figure_test
