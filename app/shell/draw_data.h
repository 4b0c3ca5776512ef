#pragma once

struct ImDrawData;

namespace headlight::shell {

/// Converts a frame that was laid out in UI units to pixels: multiplies vertices and clip rectangles by the scale and moves
/// every upright glyph to whole pixels, where its bitmap (rasterised for this scale) is copied texel by texel. So text is as
/// sharp at 1.25 or 1.5 as at 1 or 2.
void to_pixels(ImDrawData& data, float scale);

}  // namespace headlight::shell
