#pragma once

#include <array>
#include <filesystem>

#include "capture/capture_tokens.h"
#include "capture/patch_grid.h"
#include "capture/stored_capture.h"

namespace headlight::capture {

/// The images of a capture, whose patches are tokens of a side: an encoder's (or a single stack's), or a decoder's.
struct CapturedImages {
  static constexpr std::size_t kSource = 0, kTarget = 1, kSides = 2;

  /// [side][line], or one for all lines alike; empty: all tokens are words.
  std::array<std::vector<PatchImages>, kSides> of_sides = {};
  /// A note in one line about images that are wrong or odd; empty: there are none.
  std::string note = {};

  const PatchImages& of(std::size_t side, std::uint32_t line) const;
};

/// The file that images are read from, and its metadata about them.
struct ImageSource {
  std::filesystem::path capture;         ///< the file; images are beside it or below
  const ImageMetadata* words = nullptr;  ///< never null
  /// `image`, or `image.0`, `image.1`, … of the capture, in this order.
  std::vector<const StoredArray*> pixels = {};
  struct Side {
    std::uint32_t batch = 0, tokens = 0;              ///< 0 tokens: there is none
    const std::optional<Positions>* spans = nullptr;  ///< of its lines; null or none: nothing is said
  };
  std::array<Side, CapturedImages::kSides> sides = {};
};

/// Never throws Error: a capture is shown without an image that can't be.
CapturedImages read_images(const ImageSource& source);

/// Names tokens without texts: patches by row and column, "3,7", a class token "[class]", others by their positions.
std::vector<std::string> patch_names(const PatchImages& images, std::uint32_t tokens);

}  // namespace headlight::capture
