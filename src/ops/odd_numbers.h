#pragma once

#include "gpu/buffer.h"
#include "gpu/stream.h"
#include "ops/kernels.h"

namespace headlight::ops {

/// Numbers of a buffer that are looked at.
struct NumberRows {
  gpu::Slice numbers;  ///< float [row, stride]
  std::uint32_t rows = 0, stride = 1;
  std::uint32_t first = 0, count = 1;  ///< of each row those in [first, first + count)
  std::uint32_t period = 1, kept = 1;  ///< of each `period` rows the first `kept` ones
};

/// counts[i], a uint32, becomes how many numbers of parts[i] are NaN or infinite. The buffers stay until the stream has run.
void count_odd_numbers(gpu::Stream& stream, Kernels& kernels, std::span<const NumberRows> parts, const gpu::Buffer& counts);

}  // namespace headlight::ops
