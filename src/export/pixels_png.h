#pragma once

#include <string>

#include "export/canvas.h"

namespace headlight::exporting {

/// One pixel per value, opaque: the image that an SVG embeds.
std::string encode_png(const Pixels& pixels);

}  // namespace headlight::exporting
