#pragma once

#include "gpu/stream.h"
#include "ops/device_tensor.h"
#include "ops/kernels.h"

namespace headlight::ops {

/// What rotary positions turn by.
struct RotaryAngles {
  gpu::Slice angles;     ///< [position, pairs, 2] (cos, sin)
  gpu::Slice positions;  ///< [item, tokens] words
  std::uint32_t tokens = 0;
  std::uint32_t pairs = 0;
  bool is_interleaved = false;  ///< pairs (2i, 2i + 1) instead of (i, i + pairs)
};

/// Turns number pairs of queries or keys by the angle of their token's position, in place (Su et al. 2021).
///   x [item, head, token, d_k]
void rotate(gpu::Stream& stream, Kernels& kernels, const DeviceTensor& x, const RotaryAngles& angles, Rows rows);

}  // namespace headlight::ops
