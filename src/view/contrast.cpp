#include "view/contrast.h"

#include <algorithm>

#include <glm/geometric.hpp>
#include <glm/gtc/color_space.hpp>

namespace headlight::view {
namespace {

double luminance(Rgb color) {
  return glm::dot(glm::convertSRGBToLinear(glm::dvec3(color) / 255.0), glm::dvec3(0.2126, 0.7152, 0.0722));
}

}  // namespace

double contrast(Rgb a, Rgb b) {
  const double first = luminance(a);
  const double second = luminance(b);
  return (std::max(first, second) + 0.05) / (std::min(first, second) + 0.05);
}

Rgb text_on(Rgb ground, Rgb preferred) {
  constexpr double kMin = 4.5;
  if (contrast(ground, preferred) >= kMin) return preferred;
  constexpr Rgb kBlack = {0, 0, 0}, kWhite = {255, 255, 255};
  return contrast(ground, kBlack) > contrast(ground, kWhite) ? kBlack : kWhite;
}

}  // namespace headlight::view
