#pragma once

#include "app/widgets/token_chips.h"

namespace headlight::app {

/// Two lines of chips keep this from frame to frame.
struct PairMemory {
  TokenLineMemory queries, keys;
};

/// Returns the pinned cell, else the last token of the line and the key that it looks at most. There must be a selected
/// shape.
attention::Cell chosen_cell(Frame& frame);

/// Draws a query and a key to choose, as chips marked "<name>.query.3"; the keys' tints are the selected head's weights.
/// Pins the pair that is clicked. Returns the key under the pointer.
std::optional<std::uint32_t> choose_pair(Frame& frame, const std::string& name, attention::Cell cell, PairMemory& memory);

}  // namespace headlight::app
