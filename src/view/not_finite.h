#pragma once

#include <cstdint>

#include "view/color_map.h"

namespace headlight::view {

/// The colour of cells whose value is NaN or infinite (and not masked), in the window and in figures: in no colour map,
/// neither a masked cell's nor zero's.
inline constexpr Rgb kNotFinite{.red = 0xFF, .green = 0x00, .blue = 0xC8};
/// Packed as R | G << 8 | B << 16 | A << 24.
inline constexpr std::uint32_t kNotFinitePacked = 0xFF000000U | std::uint32_t{kNotFinite.blue} << 16 |
                                                  std::uint32_t{kNotFinite.green} << 8 | std::uint32_t{kNotFinite.red};

}  // namespace headlight::view
