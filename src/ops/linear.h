#pragma once

#include <optional>

#include "gpu/stream.h"
#include "ops/device_tensor.h"
#include "ops/kernels.h"
#include "ops/packed_linear.h"

namespace headlight::ops {

/// Numbers as in shaders/lib/activation.glsl.
enum class Activation : std::uint8_t { None, Relu, Gelu, GeluTanh, Silu };

/// The operation on y before it is stored: none, y · other (gated layers), y + other (residuals); or both y and the sum are
/// stored.
enum class Combine : std::uint8_t { None, Multiply, Add, AddBeside };

struct LinearOptions {
  Activation activation = Activation::None;
  Combine combine = Combine::None;
  const DeviceTensor* other = nullptr;        ///< of y's shape, when something is combined
  const DeviceTensor* sum = nullptr;          ///< of y's shape: y + other, with AddBeside
  std::optional<Rows> rows = {};              ///< none: y's whole capacity
  std::optional<std::uint32_t> x_first = {};  ///< row of x for the first of `rows`; none: the same
};

/// y = x · Wᵀ + b (torch.nn.functional.linear), then the activation, then the combination.
///   x [item, token, in], weight of one section, y [item, token, out]
void linear(gpu::Stream& stream, Kernels& kernels, const DeviceTensor& x, const PackedLinear& weight, const DeviceTensor& y,
            const LinearOptions& options = {});

/// The projections of an attention from one input, split into heads when stored.
///   x [item, token, d_model]; weight has the sections query, key, value
///   q [item, head, token, d_k], k [item, KV head, token, d_k], v [item, KV head, token, d_v]; those that are null are
///   left out (cross-attention projects queries from one input, keys and values from another): either q alone, k and v, or
///   all three.
void project_heads(gpu::Stream& stream, Kernels& kernels, const DeviceTensor& x, const PackedLinear& weight,
                   const DeviceTensor* q, const DeviceTensor* k, const DeviceTensor* v, std::optional<Rows> rows = {});

}  // namespace headlight::ops
