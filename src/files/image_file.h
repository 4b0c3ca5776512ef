#pragma once

#include <filesystem>

#include "files/pixels.h"

namespace headlight::files {

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
