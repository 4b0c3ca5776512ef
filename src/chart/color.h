#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string_view>

#include <glm/ext/vector_uint3_sized.hpp>
#include <glm/gtc/color_space.hpp>
#include <glm/mat3x3.hpp>

#include "core/error.h"

namespace headlight::chart {

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

/// Colour follows the kind of data: the first four for weights (sequential), the others for signed numbers around zero.
/// All are readable with every common colour vision deficiency.
enum class ColorMap : std::uint8_t {
  Viridis,
  Magma,
  Cividis,
  Greys,        ///< 0 is white, 1 is black: for print
  BlueRed,      ///< diverging: 0 is blue, 0.5 nearly white, 1 red
  BlueRedDark,  ///< on dark ground: 0.5 is nearly black
};
inline constexpr std::array kColorMaps = {ColorMap::Viridis, ColorMap::Magma,   ColorMap::Cividis,
                                          ColorMap::Greys,   ColorMap::BlueRed, ColorMap::BlueRedDark};
constexpr ColorMap diverging(bool is_dark) { return is_dark ? ColorMap::BlueRedDark : ColorMap::BlueRed; }

/// "viridis", "magma", "cividis", "greys", "blue-red": flags, menus, settings.
std::string_view to_string(ColorMap map);
Result<ColorMap> parse_color_map(std::string_view text);

/// The colour at a position 0 … 1; positions outside are clamped, NaN is 0.
Rgb color(ColorMap map, float position);

/// 256 colours from position 0 to 1, as pack() has them. Lives as long as the program.
std::span<const std::uint32_t, 256> table(ColorMap map);

/// Contrast of two colours, 1 … 21 (WCAG 2.1, "contrast ratio"): (L₁ + 0.05) / (L₂ + 0.05) of their relative luminances.
double contrast(Rgb a, Rgb b);

/// Returns the colour for text on a ground: `preferred` where its contrast is at least 4.5, which WCAG asks of small
/// text, else black or white, one of which has that on every ground.
Rgb text_on(Rgb ground, Rgb preferred = {255, 255, 255});

/// Colours that distinguish heads, colour-blind-safe among any eight neighbours; a colour is never the only cue.
inline constexpr std::uint32_t kHeadColors = 24;

/// Repeats after kHeadColors heads.
Rgb head_color(std::uint32_t head);

/// A colour in OKLab (Björn Ottosson, 2020: https://bottosson.github.io/posts/oklab), in which equal steps look equally
/// large: lightness 0 … 1, a from green to red, b from blue to yellow.
inline glm::vec3 to_oklab(Rgb color) {
  // One row of Ottosson's matrices a line: glm's columns, which a vector at the left multiplies.
  constexpr glm::mat3 kToCones(0.4122214708F, 0.5363325363F, 0.0514459929F,  //
                               0.2119034982F, 0.6806995451F, 0.1073969566F,  //
                               0.0883024619F, 0.2817188376F, 0.6299787005F);
  constexpr glm::mat3 kToLab(0.2104542553F, 0.7936177850F, -0.0040720468F,  //
                             1.9779984951F, -2.4285922050F, 0.4505937099F,  //
                             0.0259040371F, 0.7827717662F, -0.8086757660F);
  const glm::vec3 cones = glm::convertSRGBToLinear(glm::vec3(color) / 255.0F) * kToCones;
  return glm::vec3(std::cbrt(cones.x), std::cbrt(cones.y), std::cbrt(cones.z)) * kToLab;
}

/// Channels outside sRGB's gamut are clipped.
inline Rgb to_rgb(glm::vec3 lab) {
  constexpr glm::mat3 kToRoots(1.0F, 0.3963377774F, 0.2158037573F,    //
                               1.0F, -0.1055613458F, -0.0638541728F,  //
                               1.0F, -0.0894841775F, -1.2914855480F);
  constexpr glm::mat3 kToLinear(4.0767416621F, -3.3077115913F, 0.2309699292F,   //
                                -1.2684380046F, 2.6097574011F, -0.3413193965F,  //
                                -0.0041960863F, -0.7034186147F, 1.7076147010F);
  const glm::vec3 roots = lab * kToRoots;
  return Rgb(glm::round(glm::convertLinearToSRGB(roots * roots * roots * kToLinear, 2.4F) * 255.0F));
}

/// The colour of cells whose value is NaN or infinite (and not masked), in the window and in figures: in no colour map,
/// neither a masked cell's nor zero's.
inline constexpr Rgb kNotFinite{0xFF, 0x00, 0xC8};
inline constexpr std::uint32_t kNotFinitePacked = pack(kNotFinite);

}  // namespace headlight::chart
