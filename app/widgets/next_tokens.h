#pragma once

#include "app/engine/prediction_memory.h"
#include "app/frame.h"

namespace headlight::app {

/// The line in which a text ends: the tokens that the model finds likeliest after it (of a masked model at its mask), each
/// with what the last change of masks or heads did to it, or with its difference from the baseline.
class NextTokens {
 public:
  /// Draws as many as the width that is left has room for, and asks for what it needs after the map; nothing where the run
  /// predicts no tokens. A click opens the view Predictions at that position.
  void draw(Frame& frame);

 private:
  /// Returns false where the line has no room for it.
  bool draw_token(Frame& frame, const inference::Candidate& candidate, const inference::Distribution* before,
                  const std::string& since, std::size_t index);

  PredictionMemory memory_;
  PredictionPosition position_;
};

}  // namespace headlight::app
