#include "app/engine/patch_image.h"

#include "capture/capture_file.h"

namespace headlight::app {

std::optional<PatchImage> patch_image_of(const capture::CaptureFile& capture, std::uint32_t line) {
  if (!capture.patches()) return std::nullopt;
  return PatchImage{.grid = *capture.patches(), .pixels = capture.image(line)};
}

}  // namespace headlight::app
