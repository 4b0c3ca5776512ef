#pragma once

#include <cstdint>
#include <string>

namespace headlight::chart {

/// Numbers for display: a true minus sign (U+2212), "∞", never "-0.00". Exported files use src/export's formats.

/// Fixed decimals, "0.513", "−0.42"; magnitudes from 100,000 on as "−1e9". NaN is "–".
std::string format_fixed(float value, std::uint32_t decimals);

/// "1.5e-7", "−2e5": one digit, as many decimals as asked for, a power of ten. Zero is "0".
std::string format_scientific(float value, std::uint32_t decimals);

/// The most precise form of at most `max_characters` characters and three decimals: "0.513", "12.3", "1.0e-7" for values
/// that would round to zero. "" when not even the shortest fits.
std::string format_number(float value, std::uint32_t max_characters);

/// Up to seven significant digits, about float32's precision: tooltips and written-out arithmetic.
std::string format_exact(float value);

}  // namespace headlight::chart
