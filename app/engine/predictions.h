#pragma once

#include <memory>
#include <optional>

#include "app/state/state.h"
#include "inference/language_model.h"
#include "inference/sampling.h"
#include "inference/session.h"
#include "model/network.h"

namespace headlight::app {

/// A request to read a hidden state by the final norm and the unembedding (logit lens).
struct PredictionQuery {
  std::uint32_t batch = 0;
  std::uint32_t token = 0;
  std::uint32_t layer = 0;      ///< layers already passed: 0 the token vectors, the number of layers the model's own reading
  bool keeps_logits = false;    ///< all of them, to sample from
  bool is_of_baseline = false;  ///< of the run that is compared with

  auto operator<=>(const PredictionQuery&) const = default;
  inference::StateRef state() const { return {.batch = batch, .token = token, .layer = layer}; }
};

/// A model's prediction at one position.
struct Prediction {
  std::vector<inference::Candidate> candidates;      ///< the likeliest kPredictedCandidates, the likeliest first
  double entropy = 0.0;                              ///< of the whole distribution, in nats
  std::shared_ptr<const std::vector<float>> logits;  ///< [vocabulary]; only on request
  std::uint64_t run = 0;                             ///< of the engine
};
inline constexpr std::size_t kPredictedCandidates = 24;

/// The known predictions; possibly of the previous run, until they are recomputed.
using Predictions = std::map<PredictionQuery, Prediction>;

/// Reads one row of logits.
Prediction predict(std::span<const float> logits, bool keeps_logits, std::uint64_t run);

/// The position of a prediction, and its kind.
struct PredictionPosition {
  /// The token after this one; the token at a mask; or, with a masked model and no mask token there, the model's prediction
  /// of the token itself.
  enum class Kind : std::uint8_t { Next, Masked, InPlace };
  Kind kind = Kind::Next;
  std::uint32_t batch = 0;
  std::uint32_t token = 0;           ///< of the last stack's sequence, padding counted
  bool is_chosen = false;            ///< by the user; else the last token, or the first mask
  std::uint32_t first = 0, end = 0;  ///< the real tokens of the batch item

  bool operator==(const PredictionPosition&) const = default;
};

struct EngineResult;

/// The mask token, where the model has one.
std::optional<std::uint32_t> mask_token(const EngineResult& result);
/// Does the model (or notebook) predict the next token, rather than masked ones?
bool predicts_next(const EngineResult& result);

/// The row that the user pinned in the predicted sequence; else the last token of a causal model, the first
/// mask token of others, or their first token that isn't special. `result` has a run.
PredictionPosition prediction_position(const State& state, const EngineResult& result);

/// Layers of the stack that predicts.
std::uint32_t predicting_layers(const model::Network& network);

/// The place of a prediction: the model's input and the chosen position. A playground or notebook has no model.
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
