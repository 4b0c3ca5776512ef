#pragma once

#include <cstdint>

#include "inference/session.h"
#include "model/network.h"

namespace headlight::inference {

/// What a model takes on the device, in bytes.
struct MemoryEstimate {
  std::uint64_t weights = 0;  ///< exact
  /// Of a run, about: hidden states, X, Q, K, V and outputs of every block, and what layers compute in.
  std::uint64_t run = 0;

  std::uint64_t total() const { return weights + run; }
};

/// Of a text of `tokens` tokens; the decoder of an encoder–decoder has as many.
MemoryEstimate estimate_memory(const model::Network& network, Precision precision, std::uint32_t tokens);

}  // namespace headlight::inference
