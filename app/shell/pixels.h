#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <glm/vec2.hpp>

namespace headlight::shell {

/// A finished frame in host memory: RGBA8, sRGB, row-major, top row first, no padding, alpha always 255.
struct PixelImage {
  glm::uvec2 size{0};              ///< width and height
  std::vector<std::uint8_t> rgba;  ///< [height, width, 4]

  /// Returns one pixel as R | G << 8 | B << 16 | A << 24, the packing of theme colours and colour maps.
  std::uint32_t at(std::uint32_t x, std::uint32_t y) const {
    const std::size_t first = (std::size_t{y} * size.x + x) * 4;
    return std::uint32_t{rgba[first]} | std::uint32_t{rgba[first + 1]} << 8 | std::uint32_t{rgba[first + 2]} << 16 |
           std::uint32_t{rgba[first + 3]} << 24;
  }
};

}  // namespace headlight::shell
