#pragma once

#include "view/color_map.h"

namespace headlight::view {

/// The colour of cells whose value is NaN or infinite (and not masked), in the window and in figures: in no colour map,
/// neither a masked cell's nor zero's.
inline constexpr Rgb kNotFinite{0xFF, 0x00, 0xC8};
inline constexpr std::uint32_t kNotFinitePacked = pack(kNotFinite);

}  // namespace headlight::view
