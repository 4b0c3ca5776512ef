#include "core/half.h"

#include <bit>
#include <cstring>

#include "core/processor.h"

#if HEADLIGHT_AVX2
#include <immintrin.h>
#endif

namespace headlight {
namespace {

std::uint16_t half_at(const std::byte* from, std::size_t index) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, from + index * sizeof(bits), sizeof(bits));
  return bits;
}

#if HEADLIGHT_AVX2
/// Eight at a time; returns how many are done.
HEADLIGHT_AVX2_TARGET std::size_t from_halves_avx2(const std::byte* from, std::size_t count, float* to) {
  const std::size_t whole = count / 8 * 8;
  for (std::size_t i = 0; i < whole; i += 8) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i * sizeof(std::uint16_t)));
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(bits));
  }
  return whole;
}

HEADLIGHT_AVX2_TARGET std::size_t to_halves_avx2(const float* from, std::size_t count, std::uint16_t* to) {
  const std::size_t whole = count / 8 * 8;
  for (std::size_t i = 0; i < whole; i += 8) {
    const __m128i bits = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), bits);
  }
  return whole;
}

HEADLIGHT_AVX2_TARGET std::size_t from_bfloats_avx2(const std::byte* from, std::size_t count, float* to) {
  const std::size_t whole = count / 8 * 8;
  for (std::size_t i = 0; i < whole; i += 8) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i * sizeof(std::uint16_t)));
    _mm256_storeu_ps(to + i, _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16)));
  }
  return whole;
}
#endif

}  // namespace

float from_half(std::uint16_t bits) {
  // A multiplication adjusts the exponent, which is also correct for subnormal numbers.
  const std::uint32_t magnitude = (bits & 0x7fffu) << 13;
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const float scaled = std::bit_cast<float>(magnitude) * 0x1p112f;
  const std::uint32_t special = (bits & 0x7c00u) == 0x7c00u ? 0x7f800000u : 0u;  // infinities and NaN
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) | special | sign);
}

std::uint16_t to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  // Normal: adds just under half a unit, and the rest of it when the last kept bit is odd.
  std::uint32_t result = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  // Subnormal: the float unit rounds to multiples of 2⁻²⁴, the unit of 0.5f.
  if (magnitude < 0x38800000u) result = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  if (magnitude >= 0x477ff000u) result = 0x7c00u;                                // 65520 and more: infinite
  if (magnitude > 0x7f800000u) result = 0x7e00u | ((magnitude >> 13) & 0x1ffu);  // NaN, quiet
  return static_cast<std::uint16_t>(result | ((bits >> 16) & 0x8000u));
}

void from_halves(const std::byte* from, std::size_t count, float* to) {
  std::size_t i = 0;
#if HEADLIGHT_AVX2
  if (has_avx2()) i = from_halves_avx2(from, count, to);
#endif
  for (; i < count; ++i) to[i] = from_half(half_at(from, i));
}

void to_halves(const float* from, std::size_t count, std::uint16_t* to) {
  std::size_t i = 0;
#if HEADLIGHT_AVX2
  if (has_avx2()) i = to_halves_avx2(from, count, to);
#endif
  for (; i < count; ++i) to[i] = to_half(from[i]);
}

void from_bfloats(const std::byte* from, std::size_t count, float* to) {
  std::size_t i = 0;
#if HEADLIGHT_AVX2
  if (has_avx2()) i = from_bfloats_avx2(from, count, to);
#endif
  for (; i < count; ++i) to[i] = std::bit_cast<float>(std::uint32_t{half_at(from, i)} << 16);
}

void to_bfloats(const float* from, std::size_t count, std::uint16_t* to) {
  for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(from[i]) >> 16);
}

}  // namespace headlight
