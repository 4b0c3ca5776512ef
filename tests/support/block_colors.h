#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace headlight::test {

/// An image as the mean colours of its blocks of 16 × 16 pixels: what stays the same when another driver or font renderer
/// rounds otherwise, and changes when something is missing, elsewhere or of another colour.
struct BlockColors {
  using Rgb = std::array<std::uint8_t, 3>;
  static constexpr std::uint32_t kBlock = 16;

  std::uint32_t columns = 0, rows = 0;  ///< blocks; the last ones may be narrower
  std::vector<Rgb> means;               ///< row by row

  BlockColors() = default;
  BlockColors(std::uint32_t width, std::uint32_t height, const std::function<Rgb(std::uint32_t x, std::uint32_t y)>& pixel);
};

/// Differences of channels, 0 to 255; ∞ when the sizes differ.
struct ColorDifference {
  double mean = 0.0;  ///< over all blocks and channels
  double most = 0.0;  ///< of any channel of any block
};
ColorDifference difference(const BlockColors& left, const BlockColors& right);

/// The difference from tests/golden/images/NAME.ppm, which has a pixel for each block. Throws Error when it can't be read.
/// With HEADLIGHT_UPDATE_GOLDEN=1 in the environment the file is written and nothing differs.
ColorDifference difference_from_stored(const std::string& name, const BlockColors& found);

}  // namespace headlight::test
