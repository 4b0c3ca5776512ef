#pragma once

#include <filesystem>

#include "app/shell/pixels.h"

namespace headlight::app {

/// Writes a finished frame as PNG; creates the folder. Throws Error naming the file and the reason.
void write_png(const std::filesystem::path& path, const shell::PixelImage& image);

}  // namespace headlight::app
