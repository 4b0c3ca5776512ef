#pragma once

#include "gpu/device_info.h"
#include "gpu/stream.h"
#include "ops/device_tensor.h"
#include "ops/kernels.h"
#include "ops/packed_linear.h"

namespace headlight::ops {

/// Numbers as in shaders/lib/activation.glsl.
enum class Activation : std::uint8_t { None, Relu, Gelu, GeluTanh, Silu, Relu2, QuickGelu };

/// The operation on y before it is stored: none, y · other (gated layers), scale · y + other (residuals); or both y and the
/// sum are stored.
enum class Combine : std::uint8_t { None, Multiply, Add, AddBeside };

struct LinearOptions {
  Activation activation = Activation::None;
  Combine combine = Combine::None;
  const DeviceTensor* other = nullptr;        ///< of y's shape, when something is combined
  const DeviceTensor* sum = nullptr;          ///< of y's shape: scale · y + other, with AddBeside
  float scale = 1.0f;                         ///< of y in a sum
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
///   all three. What is stored is cut to ±clip; 0: not, negative: values alone are.
void project_heads(gpu::Stream& stream, Kernels& kernels, const DeviceTensor& x, const PackedLinear& weight,
                   const DeviceTensor* q, const DeviceTensor* k, const DeviceTensor* v, std::optional<Rows> rows = {},
                   float clip = 0.0f);

/// The division of a layer among linear_tiled.comp's workgroups.
struct LinearTiles {
  std::uint32_t lanes = 64;  ///< of a workgroup, which decide the two below
  std::uint32_t rows = 16;   ///< that a workgroup computes …
  std::uint32_t bands = 1;   ///< … of so many times 64 columns
  std::uint32_t parts = 1;   ///< into which the inner axis is split; their sums are added by linear_sum.comp
  std::uint32_t split4 = 0;  ///< vec4 of the inner axis in a part

  bool operator==(const LinearTiles&) const = default;
};

/// The limits of choose_tiles() where the driver refuses kernels.
struct LinearTileLimits {
  std::uint32_t lanes = 256, parts = 8;
};

/// The division that a model of the device's time calls the fastest, for `rows` of x, `bands` times 64 columns of y and
/// `inner4` vec4 of the inner axis (none of them 0): large tiles read less and small ones, or parts of the inner axis, give
/// every core something to do.
LinearTiles choose_tiles(const gpu::DeviceInfo& device, std::uint32_t rows, std::uint32_t bands, std::uint32_t inner4,
                         const LinearTileLimits& limits = {});

/// Bytes of the sums between linear_tiled.comp and linear_sum.comp.
std::size_t split_bytes(std::uint32_t parts, std::uint32_t rows, std::uint32_t bands);

/// Can the device run a workgroup of so many lanes with so many bytes of shared memory?
bool can_run(const gpu::DeviceInfo& device, std::uint32_t lanes, std::uint32_t shared_bytes);

}  // namespace headlight::ops
