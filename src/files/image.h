#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace headlight::files {

/// An image, row-major: red in a word's lowest byte, then green and blue, opaque, as chart::pack() has them.
struct Pixels {
  std::uint32_t width = 0, height = 0;
  std::vector<std::uint32_t> rgba;  ///< [height, width]
};

/// The mean of the pixels [left, right) × [top, bottom), at least one; channels are rounded.
std::uint32_t mean_of(const Pixels& image, std::uint32_t left, std::uint32_t right, std::uint32_t top, std::uint32_t bottom);

/// A PNG, opaque. Throws Error in one line where the image is too large, or memory is exhausted.
std::string encode_png(const Pixels& pixels);

/// The longest edge of an image that is read, and the longer edge at which it is kept.
inline constexpr std::uint32_t kMaxImageEdge = 16'384, kKeptImageEdge = 1'024;
inline constexpr std::uint64_t kMaxImagePixels = std::uint64_t{1} << 25;

/// Throws Error naming `what` where an image is empty or too large to be read.
void expect_image_size(const std::string& what, std::uint64_t width, std::uint64_t height);

/// A PNG or JPEG file, transparent parts on white, reduced to kKeptImageEdge. What a file claims is checked before memory is
/// taken for it. Throws Error in one line.
Pixels read_image_file(const std::filesystem::path& path);

/// An image whose longer edge is at most `edge`: squares of pixels become their mean.
Pixels reduced(Pixels image, std::uint32_t edge);

}  // namespace headlight::files
