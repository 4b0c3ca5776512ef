#pragma once

#include <cstddef>
#include <cstdint>

namespace headlight {

/// IEEE 754 binary16 as its bits.
float from_half(std::uint16_t bits);
/// Rounds to nearest, ties to even; values that are too large become infinite.
std::uint16_t to_half(float value);

/// `count` numbers at once, at memory speed where the processor has F16C. `from` need not be aligned.
void from_halves(const std::byte* from, std::size_t count, float* to);
void to_halves(const float* from, std::size_t count, std::uint16_t* to);

/// bfloat16, the upper half of a float32's bits: likewise; what becomes one loses its lower bits, unless they are 0.
void from_bfloats(const std::byte* from, std::size_t count, float* to);
void to_bfloats(const float* from, std::size_t count, std::uint16_t* to);

}  // namespace headlight
