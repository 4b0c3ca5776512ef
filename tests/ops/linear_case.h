#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ops/linear.h"
#include "support/deviation.h"
#include "support/gpu_tensors.h"

namespace headlight::test {

/// Every kernel of linear layers.
inline constexpr std::array kLinearKernels{
    ops::LinearKernel::Naive, ops::LinearKernel::Vec4,    ops::LinearKernel::Vec4Texel,
    ops::LinearKernel::Tiled, ops::LinearKernel::Shuffle, ops::LinearKernel::ShuffleTexel,
    ops::LinearKernel::Gemv,  ops::LinearKernel::Host,    ops::LinearKernel::Matrix};

inline constexpr std::array kAllWeightTypes{ops::WeightType::F32, ops::WeightType::F16, ops::WeightType::BF16};

/// A linear layer of random numbers.
struct LinearCase {
  std::uint32_t items = 1, tokens = 1, in = 1, out = 1;
  bool has_bias = true;
  ops::Activation activation = ops::Activation::None;
  ops::Combine combine = ops::Combine::None;
  float scale = 1.0f;                           ///< of y in a sum
  ops::WeightType type = ops::WeightType::F32;  ///< of the weight on the device
  std::optional<ops::Rows> rows = {};           ///< of y; none: all
  std::optional<std::uint32_t> x_first = {};    ///< none: the same rows of x
  std::uint32_t x_tokens = 0;                   ///< 0: as many as y
  Tensor x = {}, weight = {}, bias = {}, other = {};

  std::uint32_t x_room() const { return x_tokens == 0 ? tokens : x_tokens; }
};

void fill_numbers(LinearCase& one, std::uint32_t seed);
/// Makes the weight, times `size`, numbers that its type represents.
void round_weight(LinearCase& one, float size = 1.0f);

/// y [item, token, out], and the sum if there is one; rows that no kernel computes hold the same marker in both.
struct LinearNumbers {
  std::vector<double> y, sum;
};
LinearNumbers expected(const LinearCase& one);

struct LinearOutcome {
  Taken y, sum;
  std::uint32_t dispatches = 0;
};
LinearOutcome run(ops::Kernels& kernels, const LinearCase& one, ops::LinearKernel kind);

/// Every kernel on one case; returns the largest deviation.
Deviation check_all(ops::Kernels& kernels, const LinearCase& one, double most_nmse = 1e-12,  // observed 2.5e-13
                    std::span<const ops::LinearKernel> kinds = kLinearKernels);

}  // namespace headlight::test
