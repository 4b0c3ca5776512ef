#pragma once

#include "gpu/stream.h"
#include "ops/device_tensor.h"
#include "ops/kernels.h"

namespace headlight::ops {

/// The angles of RoPE, by position.
struct RotaryAngles {
  gpu::Slice angles;     ///< [position, pairs, 2] (cos, sin)
  gpu::Slice positions;  ///< [item, tokens] words
  std::uint32_t tokens = 0;
  std::uint32_t pairs = 0;
  bool is_interleaved = false;  ///< pairs (2i, 2i + 1) instead of (i, i + pairs)
};

/// RoPE: rotates pairs of queries' or keys' components by the angle of their token's position, in place (Su et al. 2021).
///   x [item, head, token, d_k]
void rotate(gpu::Stream& stream, Kernels& kernels, const DeviceTensor& x, const RotaryAngles& angles, Rows rows);

}  // namespace headlight::ops
