#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include <glm/ext/vector_uint3_sized.hpp>

#include "core/result.h"

namespace headlight::view {

/// An sRGB colour, 0 … 255.
using Rgb = glm::u8vec3;

/// Opaque, as RGBA8 in one word: red in the lowest byte, as Dear ImGui and pixel buffers have it.
constexpr std::uint32_t pack(Rgb color) {
  return 0xFF000000U | std::uint32_t{color[2]} << 16 | std::uint32_t{color[1]} << 8 | std::uint32_t{color[0]};
}
/// Returns the colour without alpha.
constexpr Rgb unpack(std::uint32_t rgba) { return {rgba & 0xFFU, rgba >> 8 & 0xFFU, rgba >> 16 & 0xFFU}; }

/// Perceived brightness: OKLab lightness, 0 (black) … 1 (white).
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

/// 256 colours from position 0 to 1, as pack() has them. Lives as long as the program.
std::span<const std::uint32_t, 256> table(ColorMap map);

}  // namespace headlight::view
