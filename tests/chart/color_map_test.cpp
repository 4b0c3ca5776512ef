#include "chart/color.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <set>

#include <glm/common.hpp>
#include <glm/vec3.hpp>

namespace color_map_test {

using namespace headlight;
using namespace headlight::chart;

namespace {

int distance(Rgb a, Rgb b) {
  const glm::ivec3 difference = glm::abs(glm::ivec3(a) - glm::ivec3(b));
  return std::max({difference.r, difference.g, difference.b});
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("viridis, magma and cividis go through their published colours") {
    // Entries 0, 85, 128 and 255 of the original tables, none but the ends a control point.
    struct Known {
      ColorMap map;
      std::array<Rgb, 4> colors;
    };
    const std::array<Known, 3> known = {{
        {ColorMap::Viridis, {{{68, 1, 84}, {49, 104, 142}, {33, 145, 140}, {253, 231, 37}}}},
        {ColorMap::Magma, {{{0, 0, 4}, {114, 31, 129}, {183, 55, 121}, {252, 253, 191}}}},
        {ColorMap::Cividis, {{{0, 34, 78}, {87, 93, 109}, {125, 124, 120}, {254, 232, 56}}}},
    }};
    constexpr std::array<float, 4> kPositions = {0.0F, 85.0F / 255.0F, 128.0F / 255.0F, 1.0F};
    for (const Known& each : known) {
      for (std::size_t i = 0; i < kPositions.size(); ++i) {
        CAPTURE(to_string(each.map));
        CAPTURE(i);
        CHECK(distance(color(each.map, kPositions[i]), each.colors[i]) <= 1);
      }
    }
  }

  TEST_CASE("sequential maps only get lighter (greys: darker), the diverging ones are lightest or darkest in their middle") {
    for (const ColorMap map : kColorMaps) {
      CAPTURE(to_string(map));
      for (int i = 0; i < 255; ++i) {
        const float here = lightness(color(map, static_cast<float>(i) / 255.0F));
        const float next = lightness(color(map, static_cast<float>(i + 1) / 255.0F));
        const bool falls =
            map == ColorMap::Greys || (map == ColorMap::BlueRed && i >= 127) || (map == ColorMap::BlueRedDark && i < 127);
        if (falls) {
          CHECK(next <= here + 0.003F);
        } else {
          CHECK(next >= here - 0.003F);
        }
      }
    }
    CHECK(color(ColorMap::Greys, 0.0F) == Rgb{255, 255, 255});
    CHECK(color(ColorMap::Greys, 1.0F) == Rgb{0, 0, 0});
    const Rgb blue = color(ColorMap::BlueRed, 0.0F), red = color(ColorMap::BlueRed, 1.0F);
    CHECK(blue.b > blue.r + 80);
    CHECK(red.r > red.b + 80);
    CHECK(lightness(color(ColorMap::BlueRed, 0.5F)) > 0.95F);
    CHECK(lightness(color(ColorMap::BlueRedDark, 0.5F)) < 0.25F);
    CHECK(lightness(color(ColorMap::BlueRedDark, 0.0F)) > 0.65F);
    CHECK(lightness(color(ColorMap::BlueRedDark, 1.0F)) > 0.65F);
    CHECK(lightness(blue) == doctest::Approx(lightness(red)).epsilon(0.05));
  }

  TEST_CASE("numbers can be read on every colour of every map") {
    for (const ColorMap map : kColorMaps) {
      double least = 21.0;
      for (const std::uint32_t entry : table(map)) least = std::min(least, contrast(unpack(entry), text_on(unpack(entry))));
      CAPTURE(to_string(map));
      CHECK(least >= 4.5);
    }
    CHECK(text_on({80, 80, 80}) == Rgb{255, 255, 255});
    CHECK(text_on({240, 240, 200}) == Rgb{0, 0, 0});
    CHECK(text_on({240, 240, 200}, {30, 30, 60}) == Rgb{30, 30, 60});
  }

  TEST_CASE("the table equals color(), positions are clamped") {
    for (const ColorMap map : kColorMaps) {
      const Rgb rgb = color(map, 100.0F / 255.0F);
      CHECK(table(map)[100] == (0xff000000U | std::uint32_t{rgb.b} << 16 | std::uint32_t{rgb.g} << 8 | rgb.r));
      CHECK(table(map)[100] == pack(rgb));
      CHECK(unpack(table(map)[100]) == rgb);
      CHECK(color(map, -3.0F) == color(map, 0.0F));
      CHECK(color(map, std::numeric_limits<float>::infinity()) == color(map, 1.0F));
      CHECK(color(map, std::numeric_limits<float>::quiet_NaN()) == color(map, 0.0F));
    }
  }

  TEST_CASE("names are written and read, unknown ones are refused with the known ones") {
    for (const ColorMap map : kColorMaps) CHECK(*parse_color_map(to_string(map)) == map);
    CHECK(parse_color_map("jet").error() ==
          "'jet' is no colour map; choose one of viridis, magma, cividis, greys, blue-red, blue-red-dark");
  }

  TEST_CASE("heads have different colours") {
    std::set<std::uint32_t> seen;
    for (std::uint32_t head = 0; head < kHeadColors; ++head) seen.insert(pack(head_color(head)));
    CHECK(seen.size() == kHeadColors);
    CHECK(head_color(kHeadColors) == head_color(0));
  }
}

}  // namespace color_map_test
