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
