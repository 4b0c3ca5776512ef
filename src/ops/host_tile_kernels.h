#pragma once

// The code of a HostTile for vectors of one width. Each file that includes this is compiled for another kind of processor,
// so everything here has internal linkage and nothing is taken from the standard library's headers: a function that two such
// files shared could be the one for a processor that isn't this one.
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
/// As from_half() of core/half.h.
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
  /// By a subtraction of 0, which compilers leave out; an addition of it they may not, since it turns −0 into 0.
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

/// Where a block of columns begins in a weight, and how far apart its rows are, in numbers.
template <typename Number>
struct Panel {
  const Number* weight;
  std::size_t stride;
};

/// `Rows` rows × `Vectors` vectors of columns: their sums stay in registers while k runs.
template <std::size_t Lanes, bool IsRounded, std::size_t Vectors, std::size_t Rows, typename Number>
void multiply_block(const HostTile::Product& product, Panel<Number> panel, std::size_t first_row, std::size_t first_column) {
  using V = Vector<Lanes>;
  const float* x = product.x + first_row * product.x_stride;
  float* target = product.sum + first_row * kColumns + first_column;
  V sum[Rows][Vectors];
  for (std::size_t r = 0; r < Rows; ++r) {
    for (std::size_t c = 0; c < Vectors; ++c)
      sum[r][c] = product.adds ? V::load(target + r * kColumns + c * Lanes) : V::all(0.0f);
  }
  for (std::uint32_t k = 0; k < product.inner; ++k, panel.weight += panel.stride) {
    V w[Vectors];
    for (std::size_t c = 0; c < Vectors; ++c) w[c] = V::load(panel.weight + c * Lanes);
    for (std::size_t r = 0; r < Rows; ++r) {
      const V factor = V::all(x[r * product.x_stride + k]);
      for (std::size_t c = 0; c < Vectors; ++c) {
        if constexpr (IsRounded) {
          sum[r][c] = sum[r][c] + rounded(factor * w[c]);
        } else {
          sum[r][c] = {sum[r][c].floats + factor.floats * w[c].floats};
        }
      }
    }
  }
  for (std::size_t r = 0; r < Rows; ++r) {
    for (std::size_t c = 0; c < Vectors; ++c) sum[r][c].store(target + r * kColumns + c * Lanes);
  }
}

/// Rows from `row` on by `Rows` at once, all columns of each; returns the first row that is left.
template <typename Number, std::size_t Lanes, bool IsRounded, std::size_t Vectors, std::size_t Rows>
std::size_t multiply_rows(const HostTile::Product& product, std::size_t row) {
  const auto* weight = static_cast<const Number*>(product.weight);
  for (; row + Rows <= product.rows; row += Rows) {
    for (std::size_t column = 0; column < kColumns; column += Lanes * Vectors) {
      multiply_block<Lanes, IsRounded, Vectors, Rows, Number>(product, {weight + column, kColumns}, row, column);
    }
  }
  return row;
}

/// The same for many rows of narrow blocks: a block's columns are copied close together first. In the weight they lie 256
/// bytes apart, which a first-level cache of 64 sets keeps in every fourth set only, too few for 256 rows of the weight.
template <typename Number, std::size_t Lanes, bool IsRounded, std::size_t Vectors, std::size_t Rows>
std::size_t multiply_copied_rows(HostTile::Product product) {
  const auto* weight = static_cast<const Number*>(product.weight);
  constexpr std::size_t kWidth = Lanes * Vectors, kMaxInner = 256;
  alignas(64) float copy[kMaxInner * kWidth];
  std::size_t row = 0;
  for (std::uint32_t rest = product.inner; rest > 0;) {
    product.inner = rest < kMaxInner ? rest : kMaxInner;
    for (std::size_t column = 0; column < kColumns; column += kWidth) {
      for (std::size_t k = 0; k < product.inner; ++k) {
        for (std::size_t c = 0; c < kWidth; c += Lanes) {
          Vector<Lanes>::load(weight + k * kColumns + column + c).store(copy + k * kWidth + c);
        }
      }
      for (row = 0; row + Rows <= product.rows; row += Rows) {
        multiply_block<Lanes, IsRounded, Vectors, Rows, float>(product, {copy, kWidth}, row, column);
      }
    }
    rest -= product.inner;
    product.x += product.inner;
    weight += product.inner * kColumns;
    product.adds = true;
  }
  return row;
}

/// `Vectors` columns of vectors and `Rows` rows fill the processor's registers; a single row takes `RowVectors`, so that
/// enough sums are on their way.
template <typename Number, std::size_t Lanes, bool IsRounded, std::size_t Vectors, std::size_t Rows, std::size_t RowVectors>
void multiply_tile(const HostTile::Product& product) {
  constexpr std::size_t kWorthCopying = 4 * Rows;
  std::size_t row = 0;
  if constexpr (Lanes * Vectors < kColumns) {
    if (product.rows >= kWorthCopying) row = multiply_copied_rows<Number, Lanes, IsRounded, Vectors, Rows>(product);
  }
  row = multiply_rows<Number, Lanes, IsRounded, Vectors, Rows>(product, row);
  if constexpr (Rows > 4) row = multiply_rows<Number, Lanes, IsRounded, Vectors, 4>(product, row);
  row = multiply_rows<Number, Lanes, IsRounded, Vectors, 2>(product, row);
  multiply_rows<Number, Lanes, IsRounded, RowVectors, 1>(product, row);
}

/// e^x within two units of the last place: x = n · ln 2 + r, and a polynomial for e^r (Cephes, expf). 0 below −87, infinite
/// above 88.
template <std::size_t Lanes>
Vector<Lanes> exponential(Vector<Lanes> x) {
  using V = Vector<Lanes>;
  const V least = V::all(-87.0f), most = V::all(88.0f);
  V within = V::where_greater(x, most, most, x);
  within = V::where_greater(least, within, least, within);
  const V round = V::all(12582912.0f);  // 1.5 · 2²³: adding it rounds to a whole number, which its last bits are
  const V shifted = {within.floats * 1.44269504f + round.floats};
  const V n = shifted - round;
  V r = {within.floats - n.floats * 0.693359375f};
  r = {r.floats + n.floats * 2.12194440e-4f};
  typename V::Floats polynomial = r.floats * 1.9875691500e-4f + 1.3981999507e-3f;
  polynomial = polynomial * r.floats + 8.3334519073e-3f;
  polynomial = polynomial * r.floats + 4.1665795894e-2f;
  polynomial = polynomial * r.floats + 1.6666665459e-1f;
  polynomial = polynomial * r.floats + 5.0000001201e-1f;
  polynomial = polynomial * (r.floats * r.floats) + r.floats + 1.0f;
  typename V::Integers exponent;
  __builtin_memcpy(&exponent, &shifted.floats, sizeof(exponent));
  exponent = (exponent - 0x4b400000 + 127) << 23;
  V power;
  __builtin_memcpy(&power.floats, &exponent, sizeof(exponent));
  const V result = {polynomial * power.floats};
  const V infinite = V::all(__builtin_inff());
  return V::where_greater(least, x, V::all(0.0f), V::where_greater(x, most, infinite, result));
}

/// erfc by its Chebyshev fit (Numerical Recipes, §6.2), as in shaders/lib/activation.glsl.
template <std::size_t Lanes>
Vector<Lanes> complementary_error(Vector<Lanes> x) {
  using V = Vector<Lanes>;
  constexpr float kFit[] = {-1.13520398f, 0.27886807f, -0.18628806f, 0.09678418f, 0.37409196f, 1.00002368f, -1.26551223f};
  const V zero = V::all(0.0f), z = V::where_greater(zero, x, zero - x, x);
  const V t = V::all(1.0f) / (V::all(1.0f) + V::all(0.5f) * z);
  V polynomial = V::all(1.48851587f) + t * (V::all(-0.82215223f) + t * V::all(0.17087277f));
  for (const float factor : kFit) polynomial = V::all(factor) + t * polynomial;
  const V tail = t * exponential(polynomial - z * z);
  return V::where_greater(zero, x, V::all(2.0f) - tail, tail);
}

/// As shaders/lib/tanh.glsl: without overflow for large numbers and without cancellation for small ones.
template <std::size_t Lanes>
Vector<Lanes> hyperbolic_tangent(Vector<Lanes> x) {
  using V = Vector<Lanes>;
  const V one = V::all(1.0f), two = V::all(2.0f), limit = V::all(20.0f), least = V::all(-20.0f);
  const V square = x * x;
  const V small =
      x * (one + square * (V::all(-1.0f / 3.0f) + square * (V::all(2.0f / 15.0f) - square * V::all(17.0f / 315.0f))));
  V within = V::where_greater(x, limit, limit, x);
  within = V::where_greater(least, within, least, within);
  const V large = one - two / (exponential(two * within) + one);
  return V::where_greater(V::all(0.01f), square, small, large);
}

template <std::size_t Lanes>
Vector<Lanes> activate(std::uint32_t activation, Vector<Lanes> x) {
  using V = Vector<Lanes>;
  const V zero = V::all(0.0f), half = V::all(0.5f), one = V::all(1.0f);
  switch (activation) {
    case 1:  // ReLU
      return V::where_greater(zero, x, zero, x);
    case 2:  // GELU
      return half * x * complementary_error(zero - x * V::all(0.70710678118654752f));
    case 3:  // GELU by tanh
      return half * x * (one + hyperbolic_tangent(V::all(0.79788456080286536f) * (x + V::all(0.044715f) * x * x * x)));
    case 4:  // SiLU
      return x / (one + exponential(zero - x));
    case 5: {  // ReLU, squared
      const V kept = V::where_greater(zero, x, zero, x);
      return kept * kept;
    }
    case 6:  // quick GELU
      return x / (one + exponential(V::all(-1.702f) * x));
    default:
      return x;
  }
}

template <std::size_t Lanes>
void finish_tile(std::uint32_t activation, const float* bias, std::uint32_t rows, float* values) {
  using V = Vector<Lanes>;
  for (std::uint32_t row = 0; row < rows; ++row, values += kColumns) {
    for (std::size_t c = 0; c < kColumns; c += Lanes) {
      activate(activation, V::load(values + c) + V::load(bias + c)).store(values + c);
    }
  }
}

template <std::size_t Lanes>
void scale_scores(float factor, float* scores) {
  using V = Vector<Lanes>;
  const V factors = V::all(factor);
  for (std::size_t c = 0; c < kColumns; c += Lanes) (V::load(scores + c) * factors).store(scores + c);
}

template <std::size_t Lanes>
float largest_score(const float* scores, float top) {
  using V = Vector<Lanes>;
  V tops = V::all(top);
  for (std::size_t c = 0; c < kColumns; c += Lanes) {
    const V some = V::load(scores + c);
    tops = V::where_greater(some, tops, some, tops);
  }
  for (std::size_t i = 0; i < Lanes; ++i) top = tops.floats[i] > top ? tops.floats[i] : top;
  return top;
}

template <std::size_t Lanes>
float soften_scores(float shift, float hidden, float* scores) {
  using V = Vector<Lanes>;
  const V shifts = V::all(shift), hides = V::all(hidden), zero = V::all(0.0f);
  V sums = zero;
  for (std::size_t c = 0; c < kColumns; c += Lanes) {
    const V some = V::load(scores + c);
    const V weights = V::where_equal(some, hides, zero, exponential(some - shifts));
    weights.store(scores + c);
    sums = sums + weights;
  }
  float sum = 0.0f;
  for (std::size_t i = 0; i < Lanes; ++i) sum += sums.floats[i];
  return sum;
}

/// A block of each of `Lanes` rows.
template <std::size_t Lanes>
struct BlockRows {
  using V = Vector<Lanes>;
  using Integers = typename V::Integers;

  const std::uint8_t* block;  ///< [byte][64 rows], from the first of these rows on

  /// With instructions for it: GCC 12 converts vectors of bytes one by one.
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

// As shaders/expand_blocks.comp: `put` stores number i, of 32, of each row.

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

/// All of it for vectors of `Lanes` numbers; see multiply_tile().
template <std::size_t Lanes, std::size_t Vectors, std::size_t Rows, std::size_t RowVectors>
constexpr HostTile tile_of(const char* vectors) {
  return {.multiply = {multiply_tile<float, Lanes, false, Vectors, Rows, RowVectors>,
                       multiply_tile<Half, Lanes, false, Vectors, Rows, RowVectors>,
                       multiply_tile<BFloat, Lanes, false, Vectors, Rows, RowVectors>},
          .expand = {expand_tile<Lanes, WeightType::Q8_0>, expand_tile<Lanes, WeightType::Q4_0>,
                     expand_tile<Lanes, WeightType::Q4_K>, expand_tile<Lanes, WeightType::Q5_K>,
                     expand_tile<Lanes, WeightType::Q6_K>, expand_tile<Lanes, WeightType::MXFP4>},
          .multiply_rounded = multiply_tile<float, Lanes, true, Vectors, Rows, RowVectors>,
          .finish = finish_tile<Lanes>,
          .scale = scale_scores<Lanes>,
          .largest = largest_score<Lanes>,
          .soften = soften_scores<Lanes>,
          .vectors = vectors};
}

}  // namespace
}  // namespace headlight::ops
