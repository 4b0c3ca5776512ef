#pragma once

#include "view/color_map.h"

namespace headlight::view {

/// Colours that distinguish heads, colour-blind-safe among any eight neighbours; a colour is never the only cue.
inline constexpr std::uint32_t kHeadColors = 24;

/// Repeats after kHeadColors heads.
Rgb head_color(std::uint32_t head);

}  // namespace headlight::view
