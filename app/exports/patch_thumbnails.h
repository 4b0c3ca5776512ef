#pragma once

#include "app/engine/patch_image.h"
#include "app/exports/numbers.h"

namespace headlight::capture {
class CaptureFile;
}

namespace headlight::app {

/// The image whose patches these tokens are, a side of a block of the run; nullopt: they are words. `capture`: null where a
/// network's run is shown.
std::optional<PatchImage> patch_image_of(const capture::CaptureFile* capture, const model::ModelInput& input,
                                         const model::TokenBatch& tokens, std::uint32_t line);

/// The middle square of each token's patch, for the tokens of these ranges; of no size where a token is no patch. Empty:
/// none is, or there are no pixels.
std::vector<exporting::Pixels> patch_thumbnails(const PatchImage& image, std::span<const AxisRange> ranges);

}  // namespace headlight::app
