#pragma once

#include "app/frame.h"
#include "attention/mask.h"
#include "inference/prompt.h"

namespace headlight::app {

/// The selected block's mask as its layer applies it: the user's, and the window that the layer was trained with; of a
/// capture its file's. And what its expressions read in the selected map.
class ShownMask {
 public:
  /// The frame must outlive it.
  explicit ShownMask(const Frame& frame);
  const attention::MaskSpec& spec() const { return with_window_ ? *with_window_ : chosen_; }
  /// Tokens are known once there is a run; valid as long as this.
  attention::ExpressionMap map() const;

 private:
  const Selection& selection_;
  const attention::MaskSpec& chosen_;
  std::optional<attention::MaskSpec> with_window_;  ///< only where it isn't the user's alone: a copy may be large
  std::optional<inference::MaskTokens> tokens_;
};

}  // namespace headlight::app
