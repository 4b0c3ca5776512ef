#pragma once

#include "app/views/block/block_matrices.h"

namespace headlight::app {

/// What layer and head are shown, how the family computes them, the query heads over the KV heads that they read, and the
/// size of the residual stream by layer; from the cursor on. `token`: whose vector the chart shows beside the mean.
/// `is_low`: in two lines and the sentence, without the chart, with kHeaderTools left free at the right of the first.
void draw_block_header(Frame& frame, const HeadSubject& subject, std::uint32_t token, bool is_low);

/// Width of what may be beside the title of a low header.
inline constexpr float kHeaderTools = 372.0F;

}  // namespace headlight::app
