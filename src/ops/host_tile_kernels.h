#pragma once

// The code of a HostTile for vectors of one width. Each file that includes this is compiled for another kind of processor,
// so everything here has internal linkage and nothing is taken from the standard library's headers: a function that two such
// files shared could be the one for a processor that isn't this one.
#include "ops/host_block_kernels.h"

namespace headlight::ops {
namespace {

/// The first number of a block of columns in a weight, and the distance of its rows, in numbers.
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

/// Multiplies many rows by narrow blocks: a block's columns are copied close together first. In the weight they lie 256
/// bytes apart, which a first-level cache of 64 sets keeps in every fourth set only, too few for 256 rows of the
/// weight.
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

/// tanh with the formulas of shaders/lib/tanh.glsl: without overflow for large numbers and without cancellation for
/// small ones.
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
