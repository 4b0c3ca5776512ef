#pragma once

#include "app/frame.h"

namespace headlight::app {

/// Returns the sequence in which the last stack predicts.
const model::TokenBatch& predicted_tokens(const EngineResult& result);
/// Returns the text of one of its tokens; its number where it has none.
std::string predicted_token_text(const EngineResult& result, std::uint32_t batch, std::uint32_t token);

/// Pins the row of a position, in a kind of attention whose queries are the predicted sequence.
void choose_position(Frame& frame, std::uint32_t token);

/// Draws a title with the arrows that choose the position before and after, and below it "after “the”, token 4 of 12" and
/// the place of the sentence. The arrows pin the row, as a click on the map does. `name` is the view's: "logits.previous",
/// "logits.next", "logits.automatic", "logits.copy". `copied`: what its button "Copy CSV" copies, in a sentence; null: it
/// has none.
void draw_position_header(Frame& frame, const std::string& name, const std::string& title,
                          const PredictionPosition& position, const char* copied = nullptr);

/// The logit that the user looks at, or the difference of two: State::logits.
struct ChosenLogit {
  PredictionPosition position;
  std::uint32_t token = 0;  ///< the chosen one, else the likeliest
  std::optional<std::uint32_t> other = {};
  const Prediction* prediction = nullptr;  ///< the likeliest tokens there
};

/// Returns the tokens that the state chooses at its position; none until the prediction is known.
std::optional<ChosenLogit> chosen_logit(Frame& frame);

/// Draws two lists that open: the token, and the one whose logit is subtracted. `view`: marks are "<view>.token",
/// "<view>.other.3".
void choose_tokens(Frame& frame, const ChosenLogit& logit, const std::string& view);

/// Returns "logit of “cat”", "logit of “cat” minus that of “dog”".
std::string logit_title(const Frame& frame, const ChosenLogit& logit);

}  // namespace headlight::app
