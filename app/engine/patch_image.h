#pragma once

#include <memory>

#include "capture/patch_grid.h"
#include "export/canvas.h"

namespace headlight::capture {
class CaptureFile;
}

namespace headlight::app {

/// An image whose patches are tokens.
struct PatchImage {
  capture::PatchGrid grid;
  std::shared_ptr<const exporting::Pixels> pixels;  ///< null: the capture has none

  bool operator==(const PatchImage&) const = default;
};

/// Of a line of the batch; nullopt: its tokens are no patches.
std::optional<PatchImage> patch_image_of(const capture::CaptureFile& capture, std::uint32_t line);

}  // namespace headlight::app
