#pragma once

#include <algorithm>
#include <cmath>

#include "view/color_map.h"

namespace headlight::view {

/// A colour in OKLab (Björn Ottosson, 2020): equal steps look equally large.
struct Oklab {
  float lightness = 0.0F;  ///< 0 … 1
  float a = 0.0F;          ///< green … red
  float b = 0.0F;          ///< blue … yellow
};

inline Oklab to_oklab(Rgb color) {
  const auto linear = [](std::uint8_t channel) {
    const float c = static_cast<float>(channel) / 255.0F;
    return c <= 0.04045F ? c / 12.92F : std::pow((c + 0.055F) / 1.055F, 2.4F);
  };
  const float r = linear(color.red), g = linear(color.green), b = linear(color.blue);
  const float l = std::cbrt(0.4122214708F * r + 0.5363325363F * g + 0.0514459929F * b);
  const float m = std::cbrt(0.2119034982F * r + 0.6806995451F * g + 0.1073969566F * b);
  const float s = std::cbrt(0.0883024619F * r + 0.2817188376F * g + 0.6299787005F * b);
  return {0.2104542553F * l + 0.7936177850F * m - 0.0040720468F * s,
          1.9779984951F * l - 2.4285922050F * m + 0.4505937099F * s,
          0.0259040371F * l + 0.7827717662F * m - 0.8086757660F * s};
}

/// Channels outside sRGB's gamut are clipped.
inline Rgb to_rgb(Oklab color) {
  const auto cube = [](float x) { return x * x * x; };
  const float l = cube(color.lightness + 0.3963377774F * color.a + 0.2158037573F * color.b);
  const float m = cube(color.lightness - 0.1055613458F * color.a - 0.0638541728F * color.b);
  const float s = cube(color.lightness - 0.0894841775F * color.a - 1.2914855480F * color.b);
  const auto encode = [](float linear) {
    const float c = std::clamp(linear, 0.0F, 1.0F);
    const float encoded = c <= 0.0031308F ? 12.92F * c : 1.055F * std::pow(c, 1.0F / 2.4F) - 0.055F;
    return static_cast<std::uint8_t>(std::lround(encoded * 255.0F));
  };
  return {encode(4.0767416621F * l - 3.3077115913F * m + 0.2309699292F * s),
          encode(-1.2684380046F * l + 2.6097574011F * m - 0.3413193965F * s),
          encode(-0.0041960863F * l - 0.7034186147F * m + 1.7076147010F * s)};
}

}  // namespace headlight::view
