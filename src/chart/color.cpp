#include "chart/color.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include <glm/geometric.hpp>
#include <glm/gtc/color_space.hpp>

namespace headlight::chart {

namespace {

constexpr std::size_t kPoints = 33;
using ControlPoints = std::array<std::uint32_t, kPoints>;  // 0xRRGGBB at positions i/32

// Samples of the CC0 colour maps of Smith, van der Walt and Firing (viridis, magma) and of Nuñez, Anderton and Renslow
// (cividis). Interpolated by the spline below, all 256 colours are within 1 of 255 of the originals in every channel;
// cividis, whose blue has two kinks, within 6 at seven entries and within 2 elsewhere.
constexpr ControlPoints kViridis = {0x440154, 0x470d60, 0x48186a, 0x482374, 0x472d7b, 0x453681, 0x424086, 0x3f4989, 0x3b528b,
                                    0x375a8d, 0x33638d, 0x2f6a8e, 0x2c728e, 0x297a8e, 0x26818e, 0x23898e, 0x21908c, 0x1f988b,
                                    0x1f9f88, 0x21a685, 0x28ae80, 0x31b57b, 0x3ebc74, 0x4cc26c, 0x5dc963, 0x6ece58, 0x82d34c,
                                    0x96d83f, 0xabdc32, 0xc0df24, 0xd5e21a, 0xeae51a, 0xfde725};
constexpr ControlPoints kMagma = {0x000004, 0x030311, 0x0a0822, 0x130d33, 0x1d1146, 0x28115a, 0x36106a, 0x430f76, 0x50127c,
                                  0x5d177f, 0x691c81, 0x762181, 0x822681, 0x8f2a81, 0x9c2e7f, 0xa9327d, 0xb63779, 0xc33b75,
                                  0xcf4170, 0xdb486a, 0xe65163, 0xee5c5e, 0xf5695c, 0xf9785d, 0xfb8761, 0xfd9668, 0xfea571,
                                  0xfeb47b, 0xfec387, 0xfed194, 0xfde0a2, 0xfceeb0, 0xfcfdbf};
constexpr ControlPoints kCividis = {0x00224e, 0x00285b, 0x002e6a, 0x043371, 0x1a386f, 0x273e6e, 0x32436d, 0x3b496c, 0x434e6c,
                                    0x4b546c, 0x52596d, 0x5a5f6e, 0x61656f, 0x686a71, 0x6f7073, 0x757676, 0x7c7b78, 0x848179,
                                    0x8b8778, 0x938d78, 0x9b9376, 0xa39a75, 0xaba072, 0xb3a670, 0xbbad6c, 0xc3b469, 0xccba64,
                                    0xd4c15f, 0xddc958, 0xe6d051, 0xefd748, 0xf8df3c, 0xfee838};

// Cubic Hermite spline, slopes from the neighbours (one-sided at both ends).
Rgb from_points(const ControlPoints& points, float position) {
  const auto value = [&](std::size_t i) { return glm::vec3(points[i] >> 16, points[i] >> 8 & 0xFFU, points[i] & 0xFFU); };
  const auto slope = [&](std::size_t i) -> glm::vec3 {
    if (i == 0) return value(1) - value(0);
    if (i == kPoints - 1) return value(i) - value(i - 1);
    return 0.5F * (value(i + 1) - value(i - 1));
  };
  const float x = position * static_cast<float>(kPoints - 1);
  const std::size_t i = std::min(static_cast<std::size_t>(x), kPoints - 2);
  const float t = x - static_cast<float>(i);
  const float t2 = t * t;
  const float t3 = t2 * t;
  const glm::vec3 color = (2 * t3 - 3 * t2 + 1) * value(i) + (t3 - 2 * t2 + t) * slope(i) +
                          (3 * t2 - 2 * t3) * value(i + 1) + (t3 - t2) * slope(i + 1);
  return Rgb(glm::round(glm::clamp(color, 0.0F, 255.0F)));
}

// Two arms of constant hue that meet in the lightness `middle`, from which it goes evenly to `end` on both sides, so equal
// magnitudes look equally strong, and blue against red stays apart for every common colour vision deficiency.
Rgb blue_red(float position, float middle, float end) {
  constexpr float kBlueHue = 4.45F;  // radians in OKLab's a–b plane
  constexpr float kRedHue = 0.52F;
  const float arm = 2.0F * position - 1.0F;
  const float strength = std::abs(arm);
  const float chroma = 0.155F * std::sin(2.1F * strength);
  const float hue = arm < 0 ? kBlueHue : kRedHue;
  return to_rgb({middle + (end - middle) * strength, chroma * std::cos(hue), chroma * std::sin(hue)});
}

Rgb evaluate(ColorMap map, float position) {
  switch (map) {
    case ColorMap::Viridis:
      return from_points(kViridis, position);
    case ColorMap::Magma:
      return from_points(kMagma, position);
    case ColorMap::Cividis:
      return from_points(kCividis, position);
    case ColorMap::Greys:
      return Rgb(glm::round(glm::vec3(255.0F * (1.0F - position))));
    case ColorMap::BlueRed:
      return blue_red(position, 0.975F, 0.4F);
    case ColorMap::BlueRedDark:
      return blue_red(position, 0.2F, 0.7F);
  }
  return {};
}

using Table = std::array<std::uint32_t, 256>;

Table make_table(ColorMap map) {
  Table entries{};
  for (std::size_t i = 0; i < entries.size(); ++i) {
    entries[i] = pack(evaluate(map, static_cast<float>(i) / 255.0F));
  }
  return entries;
}

}  // namespace

float lightness(Rgb color) { return to_oklab(color).x; }

std::string_view to_string(ColorMap map) {
  constexpr std::array<std::string_view, kColorMaps.size()> kNames = {"viridis", "magma",    "cividis",
                                                                      "greys",   "blue-red", "blue-red-dark"};
  return kNames[static_cast<std::size_t>(map)];
}

Result<ColorMap> parse_color_map(std::string_view text) {
  std::array<std::string_view, kColorMaps.size()> names{};
  for (const ColorMap map : kColorMaps) {
    if (text == to_string(map)) return map;
    names[static_cast<std::size_t>(map)] = to_string(map);
  }
  return Failure{fmt::format("'{}' is no colour map; choose one of {}", text, fmt::join(names, ", "))};
}

Rgb color(ColorMap map, float position) {
  const float clamped = std::isnan(position) ? 0.0F : std::clamp(position, 0.0F, 1.0F);
  return unpack(table(map)[static_cast<std::size_t>(std::lround(clamped * 255.0F))]);
}

std::span<const std::uint32_t, 256> table(ColorMap map) {
  static const std::array<Table, kColorMaps.size()> tables = [] {
    std::array<Table, kColorMaps.size()> made{};
    for (const ColorMap each : kColorMaps) made[static_cast<std::size_t>(each)] = make_table(each);
    return made;
  }();
  return tables[static_cast<std::size_t>(map)];
}

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

Rgb head_color(std::uint32_t head) {
  // Okabe and Ito's colours ("Color Universal Design", 2008) with grey instead of black, which would be invisible on dark
  // paper.
  constexpr std::array<Rgb, 8> kBase = {Rgb{0, 114, 178},  Rgb{230, 159, 0}, Rgb{0, 158, 115},  Rgb{204, 121, 167},
                                        Rgb{86, 180, 233}, Rgb{213, 94, 0},  Rgb{240, 228, 66}, Rgb{128, 128, 128}};
  constexpr std::array<float, 3> kLightnessShift = {0.0F, -0.17F, 0.12F};
  glm::vec3 color = to_oklab(kBase[head % kBase.size()]);
  color.x = std::clamp(color.x + kLightnessShift[(head / kBase.size()) % kLightnessShift.size()], 0.2F, 0.97F);
  return to_rgb(color);
}

}  // namespace headlight::chart
