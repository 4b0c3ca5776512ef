#pragma once

#include <cstdint>

#include "app/frame.h"
#include "app/views/block/block_matrices.h"

namespace headlight::app {

/// What layer and head are shown, how the family computes them, the query heads over the KV heads that they read, and the
/// size of the residual stream by layer; from the cursor on. `token`: whose vector the chart shows beside the mean.
void draw_block_header(Frame& frame, const BlockSource& source, std::uint32_t token);

}  // namespace headlight::app
