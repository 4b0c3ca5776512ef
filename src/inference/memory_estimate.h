#pragma once

#include <cstdint>

#include "inference/session.h"
#include "model/network.h"

namespace headlight::inference {

/// What a model takes on the device, in bytes.
struct MemoryEstimate {
  std::uint64_t weights = 0;  ///< exact
  std::uint64_t run = 0;      ///< what a run keeps for looking at: hidden states and every block's X, Q, K, V and outputs

  std::uint64_t total() const { return weights + run; }
};

/// Of a text of `tokens` tokens; the decoder of an encoder–decoder has as many.
MemoryEstimate estimate_memory(const model::Network& network, Precision precision, std::uint32_t tokens);

}  // namespace headlight::inference
