#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "attention/fixed_pattern.h"
#include "attention/mask.h"

namespace headlight::app {

/// One map and one of its cells.
struct CellInMap {
  attention::ExpressionMap map = {};
  std::uint32_t batch = 0;
  attention::Cell cell;
  attention::KeyRange keys = 0;                               ///< of its sequence, without padding
  std::optional<attention::ReplacementPattern> pattern = {};  ///< that takes the place of the head's own
};

/// Why the cell is masked: "causal rule", "padding", "window of 4 and mask matrix", "mask expression",
/// "paint", "pattern (previous)". Empty when it is visible.
std::string mask_reason(const attention::MaskSpec& mask, const CellInMap& where);

/// The parts of the mask: "causal, window 4, paint"; empty when it hides no cell. `has_padding`: are some of the
/// keys padding?
std::string mask_summary(const attention::MaskSpec& mask, bool has_padding);

}  // namespace headlight::app
