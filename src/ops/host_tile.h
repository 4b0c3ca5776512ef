#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/weight_type.h"

namespace headlight::ops {

/// Products with a tile of a packed weight (ops/packed_linear.h) by the processor itself, in vectors as wide as it has.
/// A number's products are added in the order of k whatever else is computed with it, so its bits are always the same.
struct HostTile {
  static constexpr std::uint32_t kColumns = 64;

  /// sum[row, column] = (adds ? sum[row, column] : 0) + Σ_k x[row, k] · weight[k, column], k in order.
  struct Product {
    const float* x;  ///< [rows, inner], rows x_stride floats apart
    std::size_t x_stride;
    std::uint32_t rows;
    const void* weight;  ///< [inner, 64] numbers of the function's type
    std::uint32_t inner;
    float* sum;  ///< [rows, 64]
    bool adds;
  };
  void (*multiply[kPlainWeightTypes])(const Product& product);
  /// Numbers 32 · part to 32 · part + 31 of a block of each of 64 rows, [byte][64 rows], as float32 [32, 64]; the first type
  /// is the first that has blocks.
  static constexpr std::uint32_t kExpanded = 32;
  void (*expand[kWeightTypes - kPlainWeightTypes])(const std::uint8_t* block, std::uint32_t part, float* to);
  /// Multiplies a float32 weight as multiply[F32] does, but with each product rounded before it is added, as drivers
  /// for processors compile scores: a weight that a kernel evaluates later is exp(score − m), exactly 1 for the largest
  /// only when both are the same bits.
  void (*multiply_rounded)(const Product& product);

  /// values[row, column] = activation(values[row, column] + bias[column]) of 64 columns; activations by their numbers in
  /// shaders/lib/activation.glsl and by its formulas, NaN stays NaN.
  void (*finish)(std::uint32_t activation, const float* bias, std::uint32_t rows, float* values);

  /// Steps of a softmax on 64 scores of a row: scores · factor; the largest of them and `top`, NaN left out; then each
  /// becomes exp(score − shift), or 0 where it is `hidden`, and the result is their sum.
  void (*scale)(float factor, float* scores);
  float (*largest)(const float* scores, float top);
  float (*soften)(float shift, float hidden, float* scores);

  const char* vectors;  ///< "AVX-512", "AVX2", "128 bits"
};

/// The fastest that this processor runs.
const HostTile& host_tile();

/// All that this processor runs, the fastest first; for tests. Ends with nullptr.
const HostTile* const* host_tiles();

}  // namespace headlight::ops
