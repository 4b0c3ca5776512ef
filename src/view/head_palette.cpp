#include "view/head_palette.h"

#include <algorithm>
#include <array>

#include "view/oklab.h"

namespace headlight::view {

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

}  // namespace headlight::view
