#pragma once

#include "app/figures/plan.h"
#include "app/figures/running_text.h"
#include "capture/capture_file.h"
#include "export/canvas.h"

namespace headlight::app {

/// Tokens that are patches of images in their places on them; words before, between and after the images as running text.
struct PatchLines {
  TextLines lines;  ///< as one line, as high as everything
  std::vector<chart::Rect> images = {};
};
/// An image's size, as large as `most` lets it be.
glm::vec2 fitted_image(const capture::PatchImage& image, glm::vec2 most);
/// As lay_out_text(); each image is as large as `most` lets it be. Words between the rows of an image are below it.
PatchLines lay_out_patches(std::span<const RunningToken> tokens, std::span<const float> widths, const TextMeasures& measures,
                           const capture::PatchImages& images, glm::vec2 most);

/// An image on which colours can be told apart: grey, and half as strong. Without pixels an even ground.
exporting::Pixels muted_image(const capture::PatchImage& image, bool is_dark);

/// A patch's shade, 0 … 1, and its colour.
struct PatchShade {
  float share = 0.0F;
  exporting::Rgb color{};
};
/// A muted image under shades [patch], row by row.
exporting::Pixels shaded_image(exporting::Pixels muted, const capture::PatchGrid& grid, std::span<const PatchShade> shades);

/// The images whose patches are among these tokens, a side of a block of the run. `capture`: null where a network's run is
/// shown.
capture::PatchImages patch_images_of(const capture::CaptureFile* capture, const model::ModelInput& input,
                                     const model::TokenBatch& tokens, std::uint32_t line);

/// The middle square of each token's patch, for these tokens; of no size where a token is no patch. Empty:
/// none is, or there are no pixels.
std::vector<exporting::Pixels> patch_thumbnails(const capture::PatchImages& images, const IndexSet& tokens);

}  // namespace headlight::app
