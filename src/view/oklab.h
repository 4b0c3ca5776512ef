#pragma once

#include <cmath>

#include <glm/gtc/color_space.hpp>
#include <glm/mat3x3.hpp>

#include "view/color_map.h"

namespace headlight::view {

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

}  // namespace headlight::view
