#include "app/engine/predictions.h"

#include <algorithm>

#include "app/engine/engine.h"

namespace headlight::app {
namespace {

using Kind = PredictionPosition::Kind;

const model::TokenBatch& predicted_tokens(const model::ModelInput& input) {
  return input.target ? *input.target : input.source;
}

/// Is the pinned row in the predicted sequence?
bool pins_predicted_row(const State& state, const model::ModelInput& input) {
  return state.view.pinned && &input.queries(state.selection.block.kind) == &predicted_tokens(input);
}

}  // namespace

std::optional<std::uint32_t> mask_token(const EngineResult& result) {
  if (!result.model) return std::nullopt;
  if (result.model->tokenizer && result.model->tokenizer->special().mask) return result.model->tokenizer->special().mask;
  return result.model->description.ids.mask;
}

bool predicts_next(const EngineResult& result) {
  return !result.model || result.model->description.is_causal || result.model->description.is_encoder_decoder;
}

Prediction predict(std::span<const float> logits, bool keeps_logits, std::uint64_t run) {
  Prediction prediction{.candidates = inference::top_candidates(logits, kPredictedCandidates),
                        .entropy = inference::entropy(logits),
                        .logits = nullptr,
                        .run = run};
  if (keeps_logits) prediction.logits = std::make_shared<const std::vector<float>>(logits.begin(), logits.end());
  return prediction;
}

PredictionPosition prediction_position(const State& state, const EngineResult& result) {
  const model::TokenBatch& tokens = predicted_tokens(*result.input);
  PredictionPosition position;
  position.batch = std::min(state.selection.batch, std::max(tokens.batch, 1u) - 1);
  position.first = tokens.start(position.batch);
  position.end = position.first + (position.batch < tokens.lengths.size() ? tokens.lengths[position.batch] : tokens.length);
  const auto id_at = [&](std::uint32_t token) {
    const std::size_t at = std::size_t{position.batch} * tokens.length + token;
    return at < tokens.ids.size() ? std::optional(tokens.ids[at]) : std::nullopt;
  };
  const std::optional<std::uint32_t> mask = mask_token(result);
  const auto kind_at = [&](std::uint32_t token) {
    if (predicts_next(result)) return Kind::Next;
    return mask && id_at(token) == mask ? Kind::Masked : Kind::InPlace;
  };
  position.token = position.end > position.first ? position.end - 1 : position.first;
  if (pins_predicted_row(state, *result.input) && state.view.pinned->query >= position.first &&
      state.view.pinned->query < position.end) {
    position.token = state.view.pinned->query;
    position.is_chosen = true;
  } else if (!predicts_next(result)) {
    position.token = std::min(position.first + 1, position.token);
    for (std::uint32_t token = position.first; token < position.end; ++token) {
      if (kind_at(token) != Kind::Masked) continue;
      position.token = token;
      break;
    }
  }
  position.kind = kind_at(position.token);
  return position;
}

std::uint32_t predicting_layers(const model::Network& network) {
  const model::Layers& layers = *network.layers;
  return static_cast<std::uint32_t>(layers.decoder.empty() ? layers.encoder.size() : layers.decoder.size());
}

}  // namespace headlight::app
