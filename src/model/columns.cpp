#include "model/columns.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

#include "core/half.h"
#include "core/processor.h"

#if HEADLIGHT_AVX2
#include <immintrin.h>
#endif

namespace headlight::model {
namespace {

/// Converts one number of each stored type to each written type.
template <ElementType kType>
struct Stored;

template <>
struct Stored<ElementType::F32> {
  using Bits = std::uint32_t;
  static void convert(Bits bits, float& to) { to = std::bit_cast<float>(bits); }
  static void convert(Bits bits, std::uint16_t& to) { to = to_half(std::bit_cast<float>(bits)); }
};
template <>
struct Stored<ElementType::F16> {
  using Bits = std::uint16_t;
  static void convert(Bits bits, float& to) { to = from_half(bits); }
  static void convert(Bits bits, std::uint16_t& to) { to = bits; }
};
template <>
struct Stored<ElementType::BF16> {
  using Bits = std::uint16_t;
  static float value(Bits bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
  static void convert(Bits bits, float& to) { to = value(bits); }
  static void convert(Bits bits, std::uint16_t& to) { to = to_half(value(bits)); }
};

using Rows = std::span<const std::byte* const>;

/// Columns [begin, end) of some rows, one number after the other.
template <ElementType kType, typename To>
void turn_plainly(Rows rows, std::size_t begin, std::size_t end, To* to, std::size_t stride) {
  for (std::size_t i = begin; i < end; ++i) {
    for (std::size_t r = 0; r < rows.size(); ++r) {
      typename Stored<kType>::Bits bits;
      std::memcpy(&bits, rows[r] + i * sizeof(bits), sizeof(bits));
      Stored<kType>::convert(bits, to[i * stride + r]);
    }
  }
}

#if HEADLIGHT_AVX2
template <ElementType kType>
HEADLIGHT_AVX2_TARGET inline __m256 load_floats(const std::byte* from) {
  if constexpr (kType == ElementType::F32) return _mm256_loadu_ps(reinterpret_cast<const float*>(from));
  const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  if constexpr (kType == ElementType::F16) return _mm256_cvtph_ps(bits);
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
}

template <ElementType kType>
HEADLIGHT_AVX2_TARGET inline __m128i load_halves(const std::byte* from) {
  if constexpr (kType == ElementType::F16) return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  return _mm256_cvtps_ph(load_floats<kType>(from), _MM_FROUND_TO_NEAREST_INT);
}

/// Eight rows by eight columns as float32.
template <ElementType kType>
HEADLIGHT_AVX2_TARGET inline void turn_square(const std::byte* const* rows, std::size_t offset, float* to,
                                              std::size_t stride) {
  __m256 a[8], b[8];
  for (int r = 0; r < 8; ++r) a[r] = load_floats<kType>(rows[r] + offset);
  for (int r = 0; r < 8; r += 2) {  // pairs of rows: numbers 0 4, 1 5 and 2 6, 3 7
    b[r] = _mm256_unpacklo_ps(a[r], a[r + 1]);
    b[r + 1] = _mm256_unpackhi_ps(a[r], a[r + 1]);
  }
  for (int r = 0; r < 8; r += 4) {  // four rows: number n of the lower lane, n + 4 of the upper one
    a[r] = _mm256_castpd_ps(_mm256_unpacklo_pd(_mm256_castps_pd(b[r]), _mm256_castps_pd(b[r + 2])));
    a[r + 1] = _mm256_castpd_ps(_mm256_unpackhi_pd(_mm256_castps_pd(b[r]), _mm256_castps_pd(b[r + 2])));
    a[r + 2] = _mm256_castpd_ps(_mm256_unpacklo_pd(_mm256_castps_pd(b[r + 1]), _mm256_castps_pd(b[r + 3])));
    a[r + 3] = _mm256_castpd_ps(_mm256_unpackhi_pd(_mm256_castps_pd(b[r + 1]), _mm256_castps_pd(b[r + 3])));
  }
  for (int n = 0; n < 4; ++n) {
    _mm256_storeu_ps(to + static_cast<std::size_t>(n) * stride, _mm256_permute2f128_ps(a[n], a[n + 4], 0x20));
    _mm256_storeu_ps(to + static_cast<std::size_t>(n + 4) * stride, _mm256_permute2f128_ps(a[n], a[n + 4], 0x31));
  }
}

/// Eight rows by eight columns as binary16.
template <ElementType kType>
HEADLIGHT_AVX2_TARGET inline void turn_square(const std::byte* const* rows, std::size_t offset, std::uint16_t* to,
                                              std::size_t stride) {
  __m128i a[8], b[8];
  for (int r = 0; r < 8; ++r) a[r] = load_halves<kType>(rows[r] + offset);
  for (int r = 0; r < 4; ++r) {  // rows r and r + 4, numbers 0–3 and 4–7
    b[2 * r] = _mm_unpacklo_epi16(a[r], a[r + 4]);
    b[2 * r + 1] = _mm_unpackhi_epi16(a[r], a[r + 4]);
  }
  for (int r = 0; r < 2; ++r) {  // rows r, r + 2, r + 4 and r + 6, two numbers each
    a[4 * r] = _mm_unpacklo_epi16(b[2 * r], b[2 * r + 4]);
    a[4 * r + 1] = _mm_unpackhi_epi16(b[2 * r], b[2 * r + 4]);
    a[4 * r + 2] = _mm_unpacklo_epi16(b[2 * r + 1], b[2 * r + 5]);
    a[4 * r + 3] = _mm_unpackhi_epi16(b[2 * r + 1], b[2 * r + 5]);
  }
  for (int n = 0; n < 4; ++n) {
    auto* even = reinterpret_cast<__m128i*>(to + static_cast<std::size_t>(2 * n) * stride);
    auto* odd = reinterpret_cast<__m128i*>(to + static_cast<std::size_t>(2 * n + 1) * stride);
    _mm_storeu_si128(even, _mm_unpacklo_epi16(a[n], a[n + 4]));
    _mm_storeu_si128(odd, _mm_unpackhi_epi16(a[n], a[n + 4]));
  }
}

/// Whole squares of some rows, a multiple of eight; returns how many columns are done.
template <ElementType kType, typename To>
HEADLIGHT_AVX2_TARGET std::size_t turn_squares(Rows rows, std::size_t width, To* to, std::size_t stride) {
  // All rows of sixteen columns before the next sixteen: writes go through memory in order.
  constexpr std::size_t kColumns = 16, kBytes = sizeof(typename Stored<kType>::Bits);
  // More rows than the hardware prefetcher follows. A prefetch after the last row can't fault: nothing is loaded.
  constexpr std::size_t kAhead = 512;
  const std::size_t whole = width / kColumns * kColumns;
  for (std::size_t i = 0; i < whole; i += kColumns) {
    for (std::size_t r = 0; r < rows.size(); r += 8) {
      for (std::size_t n = 0; n < 8; ++n) {
        _mm_prefetch(reinterpret_cast<const char*>(rows[r + n] + i * kBytes + kAhead), _MM_HINT_T0);
      }
      turn_square<kType>(rows.data() + r, i * kBytes, to + i * stride + r, stride);
      turn_square<kType>(rows.data() + r, (i + 8) * kBytes, to + (i + 8) * stride + r, stride);
    }
  }
  return whole;
}
#endif

template <ElementType kType, typename To>
void transpose(Rows rows, std::size_t width, To* to, std::size_t stride) {
  std::size_t turned_rows = 0, turned_columns = 0;
#if HEADLIGHT_AVX2
  if (has_avx2()) {
    turned_rows = rows.size() / 8 * 8;
    turned_columns = turn_squares<kType>(rows.first(turned_rows), width, to, stride);
  }
#endif
  turn_plainly<kType>(rows.first(turned_rows), turned_columns, width, to, stride);
  turn_plainly<kType>(rows.subspan(turned_rows), 0, width, to + turned_rows, stride);
}

template <typename To>
void turn_type(ElementType type, Rows rows, std::size_t width, To* to, std::size_t stride) {
  assert(block_numbers(type) == 1);
  if (type == ElementType::F32) transpose<ElementType::F32>(rows, width, to, stride);
  if (type == ElementType::F16) transpose<ElementType::F16>(rows, width, to, stride);
  if (type == ElementType::BF16) transpose<ElementType::BF16>(rows, width, to, stride);
}

}  // namespace

void rows_to_columns(ElementType type, Rows rows, std::size_t width, float* to, std::size_t stride) {
  turn_type(type, rows, width, to, stride);
}

void rows_to_columns(ElementType type, Rows rows, std::size_t width, std::uint16_t* to, std::size_t stride) {
  turn_type(type, rows, width, to, stride);
}

}  // namespace headlight::model
