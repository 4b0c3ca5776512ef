#include "export/figure.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "core/error.h"
#include "decoded_png.h"

namespace contact_sheet_test {

using namespace headlight;
using namespace headlight::exporting;

namespace {

ContactSheet make_sheet(std::uint32_t heads, std::uint32_t n) {
  ContactSheet sheet;
  sheet.title = "Layer 0";
  for (std::uint32_t head = 0; head < heads; ++head) {
    ContactSheet::Panel panel{"head " + std::to_string(head), {.rows = n, .columns = n, .values = {}, .masked = {}}};
    panel.map.values.assign(std::size_t{n} * n, static_cast<float>(head + 1) / static_cast<float>(heads));
    sheet.panels.push_back(std::move(panel));
  }
  return sheet;
}

std::size_t pixels_of(const DecodedPng& png, Rgb color) {
  return static_cast<std::size_t>(std::count(png.pixels.begin(), png.pixels.end(), color));
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("every head is shown with its number, on one shared scale") {
    ContactSheet sheet = make_sheet(12, 5);
    const std::string svg = encode(sheet, DrawingFormat::Svg);
    for (std::uint32_t head = 0; head < 12; ++head)
      CHECK(svg.find(">head " + std::to_string(head) + "</text>") != std::string::npos);
    CHECK(svg.find("Rows: query · columns: key.") != std::string::npos);
    CHECK(svg.find(">masked<") == std::string::npos);
    const auto check_panels = [&] {
      const DecodedPng png(encode(sheet, DrawingFormat::Png));
      for (std::uint32_t head = 0; head < 12; ++head) {
        const Rgb color = chart::color(sheet.style.color_map, static_cast<float>(head + 1) / 12.0F);
        CHECK(pixels_of(png, color) > 290 * 290);  // 150 units at two pixels, less the outline
      }
    };
    check_panels();
    sheet.style.scale = chart::ScaleKind::Maximum;  // the largest of all panels, not of each
    check_panels();
  }

  TEST_CASE("from one to 64 heads and from one to thousands of tokens") {
    for (const std::uint32_t heads : {1U, 5U, 64U}) {
      for (const std::uint32_t n : {1U, 301U, 1000U}) {
        if (heads == 64 && n == 1000) continue;
        const ContactSheet sheet = make_sheet(heads, n);
        const glm::vec2 size = make_drawing(sheet, DrawingFormat::Svg)->size();
        CHECK(size.x > 100);
        CHECK(size.x < 1600);
        CHECK(size.y < 1600);
        CHECK(DecodedPng(encode(sheet, DrawingFormat::Png)).width == static_cast<int>(size.x) * 2);
      }
    }
  }

  TEST_CASE("panels that don't fit together are refused") {
    CHECK_THROWS_WITH_AS(encode(ContactSheet{}, DrawingFormat::Png), "a contact sheet needs at least one head", Error);
    ContactSheet sheet = make_sheet(2, 3);
    sheet.panels[1] = make_sheet(1, 4).panels[0];
    CHECK_THROWS_WITH_AS(encode(sheet, DrawingFormat::Svg),
                         "the maps of a contact sheet must have one size: 3 × 3 and 4 × 4 differ", Error);
  }
}

}  // namespace contact_sheet_test
