#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/result.h"

namespace headlight::view {

/// An sRGB colour, 0 … 255.
struct Rgb {
  std::uint8_t red = 0, green = 0, blue = 0;

  auto operator<=>(const Rgb&) const = default;
};

/// Perceived brightness: OKLab lightness, 0 (black) … 1 (white). Text on a cell is dark above 0.65, else light.
float lightness(Rgb color);

/// Colour follows the kind of data: the first four for weights (sequential), BlueRed for signed numbers around zero.
/// All are readable with every common colour vision deficiency.
enum class ColorMap : std::uint8_t {
  Viridis,
  Magma,
  Cividis,
  Greys,    ///< 0 is white, 1 is black: for print
  BlueRed,  ///< diverging: 0 is blue, 0.5 nearly white, 1 red
};
inline constexpr std::array kColorMaps = {ColorMap::Viridis, ColorMap::Magma, ColorMap::Cividis, ColorMap::Greys,
                                          ColorMap::BlueRed};

/// "viridis", "magma", "cividis", "greys", "blue-red": flags, menus, settings.
std::string_view to_string(ColorMap map);
Result<ColorMap> parse_color_map(std::string_view text);

/// The colour at a position 0 … 1; positions outside are clamped, NaN is 0.
Rgb color(ColorMap map, float position);

/// 256 colours from position 0 to 1 as RGBA8: red in the lowest byte, alpha 255. Lives as long as the program.
std::span<const std::uint32_t, 256> table(ColorMap map);

}  // namespace headlight::view
