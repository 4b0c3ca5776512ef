#pragma once

// Vectors of one width for host_tile_kernels.h, which says why nothing here has external linkage.
#include "ops/host_tile.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace headlight::ops {
namespace {

constexpr std::size_t kColumns = HostTile::kColumns;

/// Numbers of a weight that are no floats.
struct Half {
  std::uint16_t bits;
};
struct BFloat {
  std::uint16_t bits;
};
#if !defined(__AVX2__)
inline float of_bits(std::uint32_t bits) {
  float number;
  __builtin_memcpy(&number, &bits, sizeof(bits));
  return number;
}
inline float widened(BFloat number) { return of_bits(std::uint32_t{number.bits} << 16); }
/// Converts as from_half() of core/half.h does.
inline float widened(Half number) {
  const float scaled = of_bits((number.bits & 0x7fffU) << 13) * 0x1p112f;
  std::uint32_t bits;
  __builtin_memcpy(&bits, &scaled, sizeof(bits));
  const std::uint32_t special = (number.bits & 0x7c00U) == 0x7c00U ? 0x7f800000U : 0;  // infinities and NaN
  return of_bits(bits | special | (number.bits & 0x8000U) << 16);
}
#endif

/// Vectors of `Lanes` numbers and what the compiler lacks for them.
template <std::size_t Lanes>
struct Vector {
  typedef float Floats __attribute__((vector_size(Lanes * sizeof(float))));
  typedef std::int32_t Integers __attribute__((vector_size(Lanes * sizeof(float))));

  Floats floats;

  static Vector load(const float* from) {
    Vector vector;
    __builtin_memcpy(&vector.floats, from, sizeof(Floats));
    return vector;
  }
#if defined(__AVX512F__)
  static Vector load(const Half* from) { return {_mm512_cvtph_ps(load_words(from))}; }
  static Vector load(const BFloat* from) {
    return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(load_words(from)), 16))};
  }
  static __m256i load_words(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }
#elif defined(__AVX2__)
  static Vector load(const Half* from) { return {_mm256_cvtph_ps(load_words(from))}; }
  static Vector load(const BFloat* from) {
    return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load_words(from)), 16))};
  }
  static __m128i load_words(const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); }
#else
  template <typename Number>
  static Vector load(const Number* from) {
    float wide[Lanes];
    for (std::size_t i = 0; i < Lanes; ++i) wide[i] = widened(from[i]);
    return load(wide);
  }
#endif
  /// Subtracts 0, which compilers leave out; an addition of 0 they may not leave out, since it turns −0 into 0.
  static Vector all(float value) { return {value - Floats{}}; }
  void store(float* to) const { __builtin_memcpy(to, &floats, sizeof(Floats)); }

  friend Vector operator+(Vector a, Vector b) { return {a.floats + b.floats}; }
  friend Vector operator-(Vector a, Vector b) { return {a.floats - b.floats}; }
  friend Vector operator*(Vector a, Vector b) { return {a.floats * b.floats}; }
  friend Vector operator/(Vector a, Vector b) { return {a.floats / b.floats}; }
  /// Comparisons are false for NaN.
  static Vector where_greater(Vector a, Vector b, Vector yes, Vector no) {
    return {a.floats > b.floats ? yes.floats : no.floats};
  }
  static Vector where_equal(Vector a, Vector b, Vector yes, Vector no) {
    return {a.floats == b.floats ? yes.floats : no.floats};
  }
};

/// Keeps the compiler from making one rounding of a product and a sum.
template <std::size_t Lanes>
Vector<Lanes> rounded(Vector<Lanes> product) {
#if defined(__x86_64__)
  __asm__("" : "+v"(product.floats));
#else
  __asm__("" : "+m"(product.floats));
#endif
  return product;
}

}  // namespace
}  // namespace headlight::ops

// The numbers of quantised blocks, for 64 rows at once: HostTile::expand. See host_tile_kernels.h.

namespace headlight::ops {
namespace {

/// A block of each of `Lanes` rows.
template <std::size_t Lanes>
struct BlockRows {
  using V = Vector<Lanes>;
  using Integers = typename V::Integers;

  const std::uint8_t* block;  ///< [byte][64 rows], from the first of these rows on

  /// Converts bytes with the processor's instructions for it: GCC 12 converts vectors of bytes one by one.
  Integers byte(std::size_t at) const {
    const std::uint8_t* from = block + at * kColumns;
    Integers wide;
#if defined(__AVX512F__)
    const __m512i words = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    __builtin_memcpy(&wide, &words, sizeof(wide));
#elif defined(__AVX2__)
    const __m256i words = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
    __builtin_memcpy(&wide, &words, sizeof(wide));
#else
    for (std::size_t i = 0; i < Lanes; ++i) wide[i] = from[i];
#endif
    return wide;
  }
  Integers signed_byte(std::size_t at) const { return (byte(at) << 24) >> 24; }
  /// A float16 of two bytes, as from_half() of core/half.h.
  V half(std::size_t at) const {
    const Integers bits = byte(at) | byte(at + 1) << 8;
    const V scaled = float_of_bits((bits & 0x7fff) << 13) * V::all(0x1p112f);
    Integers wide;
    __builtin_memcpy(&wide, &scaled.floats, sizeof(wide));
    const Integers special = (bits & 0x7c00) == 0x7c00 ? Integers{} + 0x7f800000 : Integers{};  // infinities and NaN
    return float_of_bits(wide | special | (bits & 0x8000) << 16);
  }
  static V float_of_bits(Integers bits) {
    V number;
    __builtin_memcpy(&number.floats, &bits, sizeof(bits));
    return number;
  }
  static V number(Integers whole) { return {__builtin_convertvector(whole, typename V::Floats)}; }
};

// The formulas are those of shaders/expand_blocks.comp: `put` stores number i, of 32, of each row.

template <std::size_t Lanes, typename Put>
void expand_q8_0(BlockRows<Lanes> rows, std::uint32_t, const Put& put) {
  const auto scale = rows.half(0);
  for (std::size_t i = 0; i < 32; ++i) put(i, scale * rows.number(rows.signed_byte(2 + i)));
}

template <std::size_t Lanes, typename Put>
void expand_q4_0(BlockRows<Lanes> rows, std::uint32_t, const Put& put) {
  const auto scale = rows.half(0);
  for (std::size_t i = 0; i < 16; ++i) {
    const auto both = rows.byte(2 + i);
    put(i, scale * rows.number((both & 15) - 8));
    put(i + 16, scale * rows.number((both >> 4) - 8));
  }
}

template <std::size_t Lanes, typename Put>
void expand_mxfp4(BlockRows<Lanes> rows, std::uint32_t, const Put& put) {
  using V = Vector<Lanes>;
  const auto power = rows.byte(0);
  const auto small = (power & 1) * 0x00200000 + 0x00200000;  // 0 and 1: subnormal
  const V scale = rows.float_of_bits(power < 2 ? small : (power - 1) << 23);
  // Twice a number of FP4 (E2M1).
  const auto doubled = [&](auto code) {
    const auto exponent = code >> 1 & 3, fraction = code & 1;
    const V whole = rows.number(exponent == 0 ? fraction : ((fraction + 2) << exponent) >> 1);
    return V{code > 8 ? -whole.floats : whole.floats};
  };
  for (std::size_t i = 0; i < 16; ++i) {
    const auto both = rows.byte(1 + i);
    put(i, scale * doubled(both & 15));
    put(i + 16, scale * doubled(both >> 4));
  }
}

template <bool HasFifthBits, std::size_t Lanes, typename Put>
void expand_q45_k(BlockRows<Lanes> rows, std::uint32_t part, const Put& put) {
  const auto first = rows.byte(4 + part % 4), second = rows.byte(8 + part % 4), both = rows.byte(8 + part);
  const auto scale_code = part < 4 ? first & 63 : (both & 15) | first >> 6 << 4;
  const auto least_code = part < 4 ? second & 63 : both >> 4 | second >> 6 << 4;
  const auto scale = rows.half(0) * rows.number(scale_code), least = rounded(rows.half(2) * rows.number(least_code));
  constexpr std::size_t kCodes = HasFifthBits ? 48 : 16;
  for (std::size_t i = 0; i < 32; ++i) {
    auto code = rows.byte(kCodes + part / 2 * 32 + i) >> static_cast<int>(part % 2 * 4) & 15;
    if constexpr (HasFifthBits) code |= (rows.byte(16 + i) >> static_cast<int>(part) & 1) << 4;
    put(i, rounded(scale * rows.number(code)) - least);
  }
}

template <std::size_t Lanes, typename Put>
void expand_q6_k(BlockRows<Lanes> rows, std::uint32_t part, const Put& put) {
  const auto of_all = rows.half(208);
  const std::size_t half = part / 4, scales = 192 + half * 8 + part % 4 * 2;
  for (std::size_t upper = 0; upper < 2; ++upper) {
    const auto scale = of_all * rows.number(rows.signed_byte(scales + upper));
    for (std::size_t i = upper * 16; i < upper * 16 + 16; ++i) {
      const auto low = rows.byte(half * 64 + part % 2 * 32 + i) >> static_cast<int>(part % 4 / 2 * 4) & 15;
      const auto high = rows.byte(128 + half * 32 + i) >> static_cast<int>(part % 4 * 2) & 3;
      put(i, scale * rows.number((low | high << 4) - 32));
    }
  }
}

/// HostTile::expand of a type.
template <std::size_t Lanes, WeightType Type>
void expand_tile(const std::uint8_t* block, std::uint32_t part, float* to) {
  for (std::size_t column = 0; column < kColumns; column += Lanes) {
    const BlockRows<Lanes> rows{block + column};
    const auto put = [&](std::size_t i, Vector<Lanes> numbers) { numbers.store(to + i * kColumns + column); };
    if constexpr (Type == WeightType::Q8_0) expand_q8_0(rows, part, put);
    if constexpr (Type == WeightType::Q4_0) expand_q4_0(rows, part, put);
    if constexpr (Type == WeightType::Q4_K) expand_q45_k<false>(rows, part, put);
    if constexpr (Type == WeightType::Q5_K) expand_q45_k<true>(rows, part, put);
    if constexpr (Type == WeightType::Q6_K) expand_q6_k(rows, part, put);
    if constexpr (Type == WeightType::MXFP4) expand_mxfp4(rows, part, put);
  }
}

}  // namespace
}  // namespace headlight::ops
