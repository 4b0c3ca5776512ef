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

/// One number of a stored type, and what it becomes.
struct Float {
  using Bits = std::uint32_t;
  using Number = float;
  static float value(Bits bits) { return std::bit_cast<float>(bits); }
};
struct Half {
  using Bits = std::uint16_t;
  using Number = float;
  static float value(Bits bits) { return from_half(bits); }
};
struct BFloat {
  using Bits = std::uint16_t;
  using Number = float;
  static float value(Bits bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
};
/// 16 bits that stay what they are.
struct Word {
  using Bits = std::uint16_t;
  using Number = std::uint16_t;
  static std::uint16_t value(Bits bits) { return bits; }
};

using Rows = std::span<const std::byte* const>;

/// Columns [begin, end) of some rows, one number after the other.
template <typename Stored>
void turn_plainly(Rows rows, std::size_t begin, std::size_t end, typename Stored::Number* to, std::size_t stride) {
  for (std::size_t i = begin; i < end; ++i) {
    for (std::size_t r = 0; r < rows.size(); ++r) {
      typename Stored::Bits bits;
      std::memcpy(&bits, rows[r] + i * sizeof(bits), sizeof(bits));
      to[i * stride + r] = Stored::value(bits);
    }
  }
}

#if HEADLIGHT_AVX2
HEADLIGHT_AVX2_TARGET inline __m128i load_words(const std::byte* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}
HEADLIGHT_AVX2_TARGET inline __m256 load(Float, const std::byte* from) {
  return _mm256_loadu_ps(reinterpret_cast<const float*>(from));
}
HEADLIGHT_AVX2_TARGET inline __m256 load(Half, const std::byte* from) { return _mm256_cvtph_ps(load_words(from)); }
HEADLIGHT_AVX2_TARGET inline __m256 load(BFloat, const std::byte* from) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load_words(from)), 16));
}

/// Eight rows by eight columns.
template <typename Stored>
HEADLIGHT_AVX2_TARGET inline void turn_square(const std::byte* const* rows, std::size_t offset, typename Stored::Number* to,
                                              std::size_t stride) {
  __m256 a[8], b[8];
  for (int r = 0; r < 8; ++r) a[r] = load(Stored{}, rows[r] + offset);
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

template <>
HEADLIGHT_AVX2_TARGET inline void turn_square<Word>(const std::byte* const* rows, std::size_t offset, std::uint16_t* to,
                                                    std::size_t stride) {
  __m128i a[8], b[8];
  for (int r = 0; r < 8; r += 2) {  // pairs of rows: numbers 0 … 3 and 4 … 7
    const __m128i upper = load_words(rows[r] + offset), lower = load_words(rows[r + 1] + offset);
    a[r] = _mm_unpacklo_epi16(upper, lower);
    a[r + 1] = _mm_unpackhi_epi16(upper, lower);
  }
  for (int r = 0; r < 8; r += 4) {  // four rows: two numbers each
    b[r] = _mm_unpacklo_epi32(a[r], a[r + 2]);
    b[r + 1] = _mm_unpackhi_epi32(a[r], a[r + 2]);
    b[r + 2] = _mm_unpacklo_epi32(a[r + 1], a[r + 3]);
    b[r + 3] = _mm_unpackhi_epi32(a[r + 1], a[r + 3]);
  }
  for (int n = 0; n < 4; ++n) {
    auto* column = reinterpret_cast<__m128i*>(to + static_cast<std::size_t>(2 * n) * stride);
    _mm_storeu_si128(column, _mm_unpacklo_epi64(b[n], b[n + 4]));
    column = reinterpret_cast<__m128i*>(to + static_cast<std::size_t>(2 * n + 1) * stride);
    _mm_storeu_si128(column, _mm_unpackhi_epi64(b[n], b[n + 4]));
  }
}

/// Whole squares of some rows, a multiple of eight; returns how many columns are done.
template <typename Stored>
HEADLIGHT_AVX2_TARGET std::size_t turn_squares(Rows rows, std::size_t width, typename Stored::Number* to,
                                               std::size_t stride) {
  // All rows of sixteen columns before the next sixteen: writes go through memory in order.
  constexpr std::size_t kColumns = 16, kBytes = sizeof(typename Stored::Bits);
  // More rows than the hardware prefetcher follows. A prefetch after the last row can't fault: nothing is loaded.
  constexpr std::size_t kAhead = 512;
  const std::size_t whole = width / kColumns * kColumns;
  for (std::size_t i = 0; i < whole; i += kColumns) {
    for (std::size_t r = 0; r < rows.size(); r += 8) {
      for (std::size_t n = 0; n < 8; ++n) {
        _mm_prefetch(reinterpret_cast<const char*>(rows[r + n] + i * kBytes + kAhead), _MM_HINT_T0);
      }
      turn_square<Stored>(rows.data() + r, i * kBytes, to + i * stride + r, stride);
      turn_square<Stored>(rows.data() + r, (i + 8) * kBytes, to + (i + 8) * stride + r, stride);
    }
  }
  return whole;
}
#endif

template <typename Stored>
void transpose(Rows rows, std::size_t width, typename Stored::Number* to, std::size_t stride) {
  std::size_t turned_rows = 0, turned_columns = 0;
#if HEADLIGHT_AVX2
  if (has_avx2()) {
    turned_rows = rows.size() / 8 * 8;
    turned_columns = turn_squares<Stored>(rows.first(turned_rows), width, to, stride);
  }
#endif
  turn_plainly<Stored>(rows.first(turned_rows), turned_columns, width, to, stride);
  turn_plainly<Stored>(rows.subspan(turned_rows), 0, width, to + turned_rows, stride);
}

}  // namespace

void rows_to_columns(ElementType type, Rows rows, std::size_t width, float* to, std::size_t stride) {
  assert(block_numbers(type) == 1);
  if (type == ElementType::F32) transpose<Float>(rows, width, to, stride);
  if (type == ElementType::F16) transpose<Half>(rows, width, to, stride);
  if (type == ElementType::BF16) transpose<BFloat>(rows, width, to, stride);
}

void rows_to_columns(Rows rows, std::size_t width, std::uint16_t* to, std::size_t stride) {
  transpose<Word>(rows, width, to, stride);
}

}  // namespace headlight::model
