#pragma once

#include <cstdint>
#include <string>

#include "attention/mask.h"

namespace headlight::app {

/// One map and one of its cells.
struct MapCell {
  std::uint32_t layer = 0, batch = 0, head = 0;
  attention::Cell cell;
  std::uint32_t key_length = 0;  ///< tokens of the keys' sequence, without padding
};

/// Why the cell is masked: "causal rule", "padding", "window of 4 and mask matrix", "paint". Empty when it is visible.
std::string mask_reason(const attention::MaskSpec& mask, const MapCell& where);

}  // namespace headlight::app
