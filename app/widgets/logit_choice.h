#pragma once

#include "app/engine/predictions.h"
#include "app/frame.h"

namespace headlight::app {

/// The logit that the user looks at, or the difference of two: State::logits.
struct ChosenLogit {
  PredictionPosition position;
  std::uint32_t token = 0;  ///< the chosen one, else the likeliest
  std::optional<std::uint32_t> other = {};
  const Prediction* prediction = nullptr;  ///< the likeliest tokens there
};

/// What the state chooses at its position; none until the prediction is known.
std::optional<ChosenLogit> chosen_logit(Frame& frame);

/// Two lists that open: the token, and the one whose logit is subtracted. `view`: marks are "<view>.token",
/// "<view>.other.3".
void choose_tokens(Frame& frame, const ChosenLogit& logit, const std::string& view);

/// "logit of “cat”", "logit of “cat” minus that of “dog”".
std::string logit_title(const Frame& frame, const ChosenLogit& logit);

}  // namespace headlight::app
