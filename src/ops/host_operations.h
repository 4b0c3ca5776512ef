#pragma once

#include "gpu/buffer.h"
#include "gpu/stream.h"
#include "ops/attention.h"
#include "ops/device_tensor.h"
#include "ops/experts.h"
#include "ops/kernels.h"
#include "ops/norm.h"
#include "ops/packed_linear.h"
#include "ops/parameters.h"
#include "ops/rotate.h"

namespace headlight::ops {

/// Can functions of the program compute it: is the device a processor, and every buffer in the program's memory?
bool can_run_on_host(const Kernels& kernels, const AttentionInputs& inputs, const AttentionOutputs& outputs);

/// attention() as one step of the host (gpu::Stream::run_on_host), computed by the processor's cores: blocks of queries of
/// one head whose scores stay in a core's cache between QKᵀ, softmax and the product with V. Limits of the device's bindings
/// and grids don't hold for it. Buffers must live until the submission has ended.
void attention_on_host(gpu::Stream& stream, Kernels& kernels, const AttentionInputs& inputs,
                       const AttentionOutputs& outputs);

// The ops of experts.h as steps of the host (gpu::Stream::run_on_host), with the parameters of their shaders. False, and
// nothing is recorded, where the device isn't a processor or a buffer isn't in the program's memory. Buffers must live until
// the submission has ended.

bool route_on_host(gpu::Stream& stream, Kernels& kernels, const gpu::Slice& logits, const gpu::Slice& gates,
                   const gpu::Buffer& routing, const ExpertsParameters& parameters);

/// Pairs read rows of x as `parameters` says.
bool expert_linear_on_host(gpu::Stream& stream, Kernels& kernels, const gpu::Slice& x, const ExpertLinear& linear,
                           const DeviceTensor& y, const LinearParameters& parameters);

bool sum_experts_on_host(gpu::Stream& stream, Kernels& kernels, const DeviceTensor& results, const gpu::Buffer& routing,
                         const gpu::Slice& y, const gpu::Slice& shared, const gpu::Slice& gate,
                         const ExpertsParameters& parameters);

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

/// Are linear layers steps of the host here? Then norms and rotations between them are too: as dispatches each would cost
/// two waits for the device.
bool rows_on_host(const Kernels& kernels);

/// norm() as one step of the host (gpu::Stream::run_on_host); `parameters` as shaders/norm.comp has them, `rows` of all
/// items. False, and nothing is recorded, where a buffer isn't in the program's memory.
bool norm_on_host(gpu::Stream& stream, Kernels& kernels, const DeviceTensor& x, const DeviceTensor& y,
                  const gpu::Buffer& affine, const DeviceTensor& result, const NormParameters& parameters);

/// rotate(), likewise; `parameters` as shaders/rotate.comp has them.
bool rotate_on_host(gpu::Stream& stream, Kernels& kernels, const DeviceTensor& x, const RotaryAngles& angles,
                    const RotateParameters& parameters);

/// Is the slice in the program's memory?
inline bool is_mapped(const gpu::Slice& slice) { return !slice.buffer->mapped().empty(); }

/// The numbers of a mapped slice; valid as long as its buffer.
template <typename T>
T* numbers(const gpu::Slice& slice) {
  return reinterpret_cast<T*>(slice.buffer->mapped().data() + slice.offset);
}

}  // namespace headlight::ops
