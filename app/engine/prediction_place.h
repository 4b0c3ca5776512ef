#pragma once

#include "app/engine/predictions.h"
#include "inference/language_model.h"
#include "model/network.h"

namespace headlight::app {

/// Where a model predicts something: its input and what is chosen of it. A playground or notebook has no model.
struct PredictedText {
  const model::ModelInput& input;
  const inference::LanguageModel* model = nullptr;
  std::uint32_t batch = 0;
  std::optional<std::uint32_t> row = {};  ///< of the sequence that predicts; none: the last token, or the first mask
};

/// The sequence whose last states predict: the target's of an encoder–decoder.
const model::TokenBatch& predicted_tokens(const model::ModelInput& input);
/// As the functions of the same names in predictions.h, of a run that isn't the engine's.
std::optional<std::uint32_t> mask_token(const inference::LanguageModel* model);
bool predicts_next(const inference::LanguageModel* model);
PredictionPosition prediction_position(const PredictedText& text);

/// A token's label: the tokenizer's, or its id.
std::string predicted_label(const inference::LanguageModel* model, std::uint32_t id);

}  // namespace headlight::app
