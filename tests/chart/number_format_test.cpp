#include "chart/number_format.h"

#include <doctest/doctest.h>

#include <limits>

#include "chart/ellipsis.h"

namespace number_format_test {

using namespace headlight::chart;

TEST_SUITE("cpu") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();

  TEST_CASE("fixed decimals with a true minus and without a negative zero") {
    CHECK(format_fixed(0.5134F, 3) == "0.513");
    CHECK(format_fixed(-0.42F, 2) == "−0.42");
    CHECK(format_fixed(-0.0004F, 3) == "0.000");
    CHECK(format_fixed(-kInfinity, 3) == "−∞");
    CHECK(format_fixed(kInfinity, 3) == "∞");
    CHECK(format_fixed(-1e9F, 2) == "−1e9");
    CHECK(format_fixed(-1e10F, 2) == "−1e10");
    CHECK(format_fixed(std::numeric_limits<float>::quiet_NaN(), 2) == "–");
  }

  TEST_CASE("numbers get as precise as their room allows") {
    CHECK(format_number(0.5134F, 5) == "0.513");
    CHECK(format_number(0.5134F, 4) == "0.51");
    CHECK(format_number(-12.3456F, 6) == "−12.35");
    CHECK(format_number(-12.3456F, 3) == "−12");
    CHECK(format_number(-12.3456F, 2).empty());
    CHECK(format_number(1.04e-7F, 6) == "1.0e-7");
    CHECK(format_number(1.04e-7F, 5) == "1e-7");
    CHECK(format_number(1.04e-7F, 3) == "0.0");
    CHECK(format_number(0.0F, 5) == "0");
    CHECK(format_exact(0.123456789F) == "0.1234568");
    CHECK(format_exact(-1.5e-7F) == "−1.500000e-7");
  }

  TEST_CASE("texts are shortened between code points") {
    const MeasureText letters = [](std::string_view text) {  // every code point is one wide
      float width = 0;
      for (const char c : text) width += (c & 0xc0) != 0x80 ? 1.0F : 0.0F;
      return width;
    };
    CHECK(shorten("dessert", 7, letters) == "dessert");
    CHECK(shorten("dessert", 4, letters) == "des…");
    CHECK(shorten("注意力机制", 3, letters) == "注意…");
    CHECK(shorten("dessert", 1, letters) == "…");
    CHECK(shorten("", 0, letters).empty());
  }
}

}  // namespace number_format_test
