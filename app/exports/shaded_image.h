#pragma once

#include "app/engine/patch_image.h"
#include "app/exports/plan.h"
#include "app/exports/running_text.h"

namespace headlight::app {

/// Tokens that are patches of an image in their places on it; those before and after them as running text, above and below.
struct PatchLines {
  TextLines lines;  ///< as one line, as high as everything
  view::Rect image;
};
/// The image's size, as large as `most` lets it be.
glm::vec2 fitted_image(const PatchImage& image, glm::vec2 most);
/// As lay_out_text(); the image is as large as `most` lets it be.
PatchLines lay_out_patches(std::span<const RunningToken> tokens, std::span<const float> widths, const TextMeasures& measures,
                           const PatchImage& image, glm::vec2 most);

/// An image on which colours can be told apart: grey, and half as strong. Without pixels an even ground.
exporting::Pixels muted_image(const PatchImage& image, bool is_dark);

/// A patch's shade, 0 … 1, and its colour.
struct PatchShade {
  float share = 0.0F;
  exporting::Rgb color{};
};
/// A muted image under shades [patch], row by row.
exporting::Pixels shaded_image(exporting::Pixels muted, const capture::PatchGrid& grid, std::span<const PatchShade> shades);

/// The image whose patches these tokens are, a side of a block of the run; nullopt: they are words. `capture`: null where a
/// network's run is shown.
std::optional<PatchImage> patch_image_of(const capture::CaptureFile* capture, const model::ModelInput& input,
                                         const model::TokenBatch& tokens, std::uint32_t line);

/// The middle square of each token's patch, for these tokens; of no size where a token is no patch. Empty:
/// none is, or there are no pixels.
std::vector<exporting::Pixels> patch_thumbnails(const PatchImage& image, const IndexSet& tokens);

}  // namespace headlight::app
