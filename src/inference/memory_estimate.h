#pragma once

#include "gpu/device_info.h"
#include "inference/session.h"
#include "model/network.h"
#include "ops/tuning.h"

namespace headlight::inference {

/// The memory that a model takes on the device, in bytes.
struct MemoryEstimate {
  std::uint64_t weights = 0;  ///< exact
  /// A run's share, about: hidden states, X, Q, K, V and outputs of every block, and the scratch that layers compute
  /// in.
  std::uint64_t run = 0;

  std::uint64_t total() const { return weights + run; }
};

/// The properties of a run's device on which its memory depends.
struct RunDevice {
  const gpu::DeviceInfo& device;
  ops::AttentionKernel attention = ops::AttentionKernel::Blocks;
};

/// Estimates the memory for a text of `tokens` tokens; the decoder of an encoder–decoder has as many. Without a device
/// the estimate is for the device and the attention kernel that need the most. Throws Error when the device can't
/// compute so many tokens.
MemoryEstimate estimate_memory(const model::Network& network, Precision precision, std::uint32_t tokens,
                               const std::optional<RunDevice>& device = std::nullopt);

/// Returns a lower bound of what a run of this input takes on a device, in bytes: the tensors that each block keeps
/// until the run is destroyed.
std::uint64_t least_run_bytes(const model::Network& network, const model::ModelInput& input);

/// Throws Error of kind OutOfDeviceMemory where this bound exceeds the device's memory, before anything is allocated: a
/// text of millions of tokens would fill the memory first.
void expect_room(const model::Network& network, const model::ModelInput& input, const gpu::DeviceInfo& device);

}  // namespace headlight::inference
