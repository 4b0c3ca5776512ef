#pragma once

#include "gpu/stream.h"
#include "ops/device_tensor.h"
#include "ops/kernels.h"
#include "ops/packed_linear.h"

namespace headlight::ops {

enum class Activation : std::uint8_t { None, Relu };

/// y = x · Wᵀ + b (torch.nn.functional.linear), then the activation.
///   x [item, token, in], weight of one section, y [item, token, out]
void linear(gpu::Stream& stream, Kernels& kernels, const DeviceTensor& x, const PackedLinear& weight, const DeviceTensor& y,
            Activation activation = Activation::None);

/// The projections of an attention from one input, split into heads while they are stored.
///   x [item, token, d_model]; weight has the sections query, key, value
///   q, k [item, head, token, d_k], v [item, head, token, d_v]; those that are null are left out (cross-attention projects
///   queries from one input, keys and values from another): either q alone, k and v, or all three.
void project_heads(gpu::Stream& stream, Kernels& kernels, const DeviceTensor& x, const PackedLinear& weight,
                   const DeviceTensor* q, const DeviceTensor* k, const DeviceTensor* v);

}  // namespace headlight::ops
