#pragma once

#include "app/engine/prediction_memory.h"
#include "app/frame.h"

namespace headlight::app {

/// The line in which a text ends: the tokens that the model finds likeliest after it (of a masked model at its mask), each
/// with what the last change of masks or heads did to it, or with its difference from the baseline.
class NextTokens {
 public:
  /// Draws as many as `room` has room for, from the cursor on, and asks for what it needs after the map; nothing where the
  /// run predicts no tokens. A click opens the view Predictions at that position. Returns the width that they take.
  float draw(Frame& frame, float room);
  /// Has the run tokens to predict, and may they be shown?
  static bool has_some(const Frame& frame);

 private:
  /// Returns false where the line has no room for it.
  bool draw_token(Frame& frame, const inference::Candidate& candidate, const inference::Distribution* before,
                  const std::string& since, std::size_t index);

  PredictionMemory memory_;
  PredictionPosition position_;
  float end_ = 0.0F;  ///< of the room
};

}  // namespace headlight::app
