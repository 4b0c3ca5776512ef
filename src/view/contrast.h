#pragma once

#include "view/color_map.h"

namespace headlight::view {

/// Contrast of two colours, 1 … 21 (WCAG 2.1, "contrast ratio"): (L₁ + 0.05) / (L₂ + 0.05) of their relative luminances.
double contrast(Rgb a, Rgb b);

/// Returns the colour for text on a ground: `preferred` where its contrast is at least 4.5, which WCAG asks of small
/// text, else black or white, one of which has that on every ground.
Rgb text_on(Rgb ground, Rgb preferred = {255, 255, 255});

}  // namespace headlight::view
