#pragma once

#include "gpu/stream.h"
#include "ops/device_tensor.h"
#include "ops/kernels.h"

namespace headlight::ops {

/// Products of the first `rows` queries or keys with vectors of distances, as shaders/lib/score.glsl reads them:
///   x [item, head, token, d_k], table [1, head, column, d_k] → `words` from word `at` on [item, head, row, column] float
void distance_scores(gpu::Stream& stream, Kernels& kernels, const DeviceTensor& x, const DeviceTensor& table,
                     std::uint32_t rows, const gpu::Buffer& words, std::uint32_t at);

}  // namespace headlight::ops
