#pragma once

#include "capture/capture_tokens.h"
#include "capture/patch_grid.h"
#include "capture/stored_capture.h"
#include "files/pixels.h"

namespace headlight::capture {

/// The image of each line of a capture, whose patches are its tokens.
struct CapturedImages {
  std::optional<PatchGrid> grid = {};                               ///< none: the tokens are no patches
  std::vector<std::shared_ptr<const files::Pixels>> of_lines = {};  ///< [batch] or one for all; empty: none
  /// In one line what is wrong with them, or odd; empty: nothing.
  std::string note = {};

  /// Null: there is none.
  std::shared_ptr<const files::Pixels> of_line(std::uint32_t line) const {
    if (of_lines.empty()) return nullptr;
    return of_lines.size() == 1 ? of_lines.front() : line < of_lines.size() ? of_lines[line] : nullptr;
  }
};

/// Where images come from.
struct ImageSource {
  std::filesystem::path capture;         ///< the file; images lie beside it or below
  const ImageMetadata* words = nullptr;  ///< never null
  const StoredArray* pixels = nullptr;   ///< `image` of the capture; null: it has none
  std::uint32_t batch = 0, tokens = 0;   ///< of the side whose tokens are patches; 0 tokens: there is none
};

/// Never throws Error: a capture is shown without an image that can't be.
CapturedImages read_images(const ImageSource& source);

/// What tokens without texts are called: patches by row and column, "3,7", a class token "[class]", others by their
/// positions.
std::vector<std::string> patch_names(const PatchGrid& grid, std::uint32_t tokens);

}  // namespace headlight::capture
