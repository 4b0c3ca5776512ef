#pragma once

#include "gpu/device_info.h"
#include "inference/session.h"
#include "model/network.h"
#include "ops/tuning.h"

namespace headlight::inference {

/// What a model takes on the device, in bytes.
struct MemoryEstimate {
  std::uint64_t weights = 0;  ///< exact
  /// Of a run, about: hidden states, X, Q, K, V and outputs of every block, and what layers compute in.
  std::uint64_t run = 0;

  std::uint64_t total() const { return weights + run; }
};

/// Where a run computes, as far as its memory depends on it.
struct RunDevice {
  const gpu::DeviceInfo& device;
  ops::AttentionKernel attention = ops::AttentionKernel::Blocks;
};

/// Of a text of `tokens` tokens; the decoder of an encoder–decoder has as many. Without a device: what the device and the
/// attention kernel that take the most need. Throws Error when the device can't compute so many tokens.
MemoryEstimate estimate_memory(const model::Network& network, Precision precision, std::uint32_t tokens,
                               const std::optional<RunDevice>& device = std::nullopt);

/// What a run of this input certainly takes on a device, in bytes: the tensors that each block keeps until the run is gone.
std::uint64_t least_run_bytes(const model::Network& network, const model::ModelInput& input);

/// Throws Error of kind OutOfDeviceMemory where that is more than the device has, before anything is allocated for it: a
/// text of millions of tokens would fill the memory first.
void expect_room(const model::Network& network, const model::ModelInput& input, const gpu::DeviceInfo& device);

}  // namespace headlight::inference
