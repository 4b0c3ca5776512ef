#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace headlight::shell {

/// Width and height of an image or a window's drawing area, in pixels of the device.
struct PixelSize {
  std::uint32_t width = 0;
  std::uint32_t height = 0;

  bool operator==(const PixelSize&) const = default;
};

/// A finished frame in host memory: RGBA8, sRGB, row-major, top row first, no padding, alpha always 255.
struct PixelImage {
  PixelSize size;
  std::vector<std::uint8_t> rgba;  ///< [height, width, 4]

  /// One pixel as R | G << 8 | B << 16 | A << 24, the packing of theme colours and colour maps.
  std::uint32_t at(std::uint32_t x, std::uint32_t y) const {
    const std::size_t first = (std::size_t{y} * size.width + x) * 4;
    return std::uint32_t{rgba[first]} | std::uint32_t{rgba[first + 1]} << 8 | std::uint32_t{rgba[first + 2]} << 16 |
           std::uint32_t{rgba[first + 3]} << 24;
  }
};

}  // namespace headlight::shell
