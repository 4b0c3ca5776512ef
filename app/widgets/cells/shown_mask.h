#pragma once

#include "app/frame.h"

namespace headlight::app {

/// The selected block's mask as its layer applies it: the user's, and the window that the layer was trained with; of a
/// capture its file's. And what its expressions read in the selected map.
class ShownMask {
 public:
  /// The frame must outlive it.
  explicit ShownMask(const Frame& frame);
  const attention::MaskSpec& spec() const { return with_window_ ? *with_window_ : chosen_; }
  /// Returns the selected map as the mask sees it; its tokens are known once there is a run. Valid as long as this object.
  attention::ExpressionMap map() const;

 private:
  const Selection& selection_;
  const attention::MaskSpec& chosen_;
  std::optional<attention::MaskSpec> with_window_;  ///< only where it isn't the user's alone: a copy may be large
  std::optional<inference::MaskTokens> tokens_;
};

/// One map and one of its cells.
struct CellInMap {
  attention::ExpressionMap map = {};
  std::uint32_t batch = 0;
  attention::Cell cell;
  attention::KeyRange keys = 0;                               ///< of its sequence, without padding
  std::optional<attention::ReplacementPattern> pattern = {};  ///< that takes the place of the head's own
};

/// Returns why the cell is masked: "causal rule", "padding", "window of 4 and mask matrix", "mask expression",
/// "paint", "pattern (previous)". Empty when it is visible.
std::string mask_reason(const attention::MaskSpec& mask, const CellInMap& where);

/// The parts of the mask: "causal, window 4, paint"; empty when it hides no cell. `has_padding`: are some of the
/// keys padding?
std::string mask_summary(const attention::MaskSpec& mask, bool has_padding);

}  // namespace headlight::app
