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

/// One number of a stored type.
template <ElementType kType>
struct Stored;

template <>
struct Stored<ElementType::F32> {
  using Bits = std::uint32_t;
  static float value(Bits bits) { return std::bit_cast<float>(bits); }
};
template <>
struct Stored<ElementType::F16> {
  using Bits = std::uint16_t;
  static float value(Bits bits) { return from_half(bits); }
};
template <>
struct Stored<ElementType::BF16> {
  using Bits = std::uint16_t;
  static float value(Bits bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
};

using Rows = std::span<const std::byte* const>;

/// Columns [begin, end) of some rows, one number after the other.
template <ElementType kType>
void turn_plainly(Rows rows, std::size_t begin, std::size_t end, float* to, std::size_t stride) {
  for (std::size_t i = begin; i < end; ++i) {
    for (std::size_t r = 0; r < rows.size(); ++r) {
      typename Stored<kType>::Bits bits;
      std::memcpy(&bits, rows[r] + i * sizeof(bits), sizeof(bits));
      to[i * stride + r] = Stored<kType>::value(bits);
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

/// Eight rows by eight columns.
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

/// Whole squares of some rows, a multiple of eight; returns how many columns are done.
template <ElementType kType>
HEADLIGHT_AVX2_TARGET std::size_t turn_squares(Rows rows, std::size_t width, float* to, std::size_t stride) {
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

template <ElementType kType>
void transpose(Rows rows, std::size_t width, float* to, std::size_t stride) {
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

}  // namespace

void rows_to_columns(ElementType type, Rows rows, std::size_t width, float* to, std::size_t stride) {
  assert(block_numbers(type) == 1);
  if (type == ElementType::F32) transpose<ElementType::F32>(rows, width, to, stride);
  if (type == ElementType::F16) transpose<ElementType::F16>(rows, width, to, stride);
  if (type == ElementType::BF16) transpose<ElementType::BF16>(rows, width, to, stride);
}

}  // namespace headlight::model
