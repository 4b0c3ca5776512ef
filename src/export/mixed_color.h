#pragma once

#include <algorithm>
#include <cmath>

#include "export/canvas.h"

namespace headlight::exporting {

/// What `color` is over `paper` where it is so opaque, 0 … 1: figures have no transparent colours.
inline Rgb mixed(Rgb paper, Rgb color, float opacity) {
  const float part = std::clamp(opacity, 0.0F, 1.0F);
  const auto channel = [part](std::uint8_t below, std::uint8_t above) {
    const float value = static_cast<float>(below) + (static_cast<float>(above) - static_cast<float>(below)) * part;
    return static_cast<std::uint8_t>(std::lround(value));
  };
  return {channel(paper.r, color.r), channel(paper.g, color.g), channel(paper.b, color.b)};
}

}  // namespace headlight::exporting
