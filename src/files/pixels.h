#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headlight::files {

/// An image, row-major: red in a word's lowest byte, then green and blue, opaque, as view::pack() has them.
struct Pixels {
  std::uint32_t width = 0, height = 0;
  std::vector<std::uint32_t> rgba;  ///< [height, width]
};

/// The mean of the pixels [left, right) × [top, bottom), at least one; channels are rounded.
std::uint32_t mean_of(const Pixels& image, std::uint32_t left, std::uint32_t right, std::uint32_t top, std::uint32_t bottom);

/// A PNG, opaque. Throws Error in one line where the image is too large, or memory is exhausted.
std::string encode_png(const Pixels& pixels);

}  // namespace headlight::files
