#pragma once

#include "gpu/stream.h"
#include "ops/attention.h"

namespace headlight::ops {

/// One head's outputs times a factor, in place in the merged matrix: 0 knocks the head out before W_O.
///   merged [item, 1, token, heads · padded d_v], `width4` vec4 of them the head's
void scale_head(gpu::Stream& stream, Kernels& kernels, const DeviceTensor& merged, const MergedLayout& layout,
                std::uint32_t head, std::uint32_t width4, float factor, Rows rows);

}  // namespace headlight::ops
