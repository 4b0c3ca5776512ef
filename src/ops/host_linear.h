#pragma once

#include "gpu/stream.h"
#include "ops/device_tensor.h"
#include "ops/kernels.h"
#include "ops/packed_linear.h"
#include "ops/parameters.h"

namespace headlight::ops {

/// A linear layer or projection as its shaders get it (shaders/lib/linear.glsl has the meaning of all); `parameters.rows`
/// and `first_tile` don't count.
struct HostLinear {
  const DeviceTensor& x;
  const PackedLinear& weight;
  const PackedLinear::Run& run;  ///< with these tiles
  const DeviceTensor &q, &k, &v;
  std::uint32_t first_tile = 0, end_tile = 0;
  std::uint32_t activation = 0;
  LinearParameters parameters;
};

inline constexpr std::uint32_t kHostRowsAtOnce = 96;  ///< their sums take 24 KiB

/// A run of a packed weight in the program's memory.
struct HostWeight {
  const std::byte* weight;
  const float* bias;
  PackedLinear::Run run;
  std::uint32_t inner4, activation;
};
/// `rows` rows of x, one after the other and kHostRowsAtOnce at most, times a tile of the weight: y = activation(x · Wᵀ + b)
/// as `sums` [rows, 64], a multiple of 64 bytes. Any thread.
void multiply_tile(const HostWeight& weight, std::uint32_t tile, const float* x, std::uint32_t rows, float* sums);

/// Can functions of the program compute it: is the device a processor, and every buffer in the program's memory?
bool can_run_on_host(const Kernels& kernels, const HostLinear& linear);

/// Records the layer as one step of the host (gpu::Stream::run_on_host), computed by the processor's cores straight from and
/// to the tensors. Limits of the device's bindings and grids don't hold for it. Buffers must live until the submission has
/// ended.
void linear_on_host(gpu::Stream& stream, Kernels& kernels, const HostLinear& linear);

}  // namespace headlight::ops
