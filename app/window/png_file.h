#pragma once

#include <filesystem>

#include "app/shell/heatmap_renderer.h"
#include "app/shell/pixels.h"

namespace headlight::app {

/// Writes a finished frame as PNG; creates the folder. Throws Error naming the file and the reason.
void write_png(const std::filesystem::path& path, const shell::PixelImage& image);

/// The part of an image inside `rect`, which is in UI units of `scale` pixels; what is outside the image is left out.
shell::PixelImage cropped(const shell::PixelImage& image, const view::Rect& rect, float scale);

}  // namespace headlight::app
