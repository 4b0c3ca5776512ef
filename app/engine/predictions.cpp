#include "app/engine/predictions.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/engine/engine.h"

namespace headlight::app {

namespace {

/// Is the pinned row in the predicted sequence?
bool pins_predicted_row(const State& state, const model::ModelInput& input) {
  return state.view.pinned && &input.queries(state.selection.block.kind) == &predicted_tokens(input);
}

}  // namespace

std::optional<std::uint32_t> mask_token(const EngineResult& result) { return mask_token(result.model.get()); }

bool predicts_next(const EngineResult& result) { return predicts_next(result.model.get()); }

Prediction predict(std::span<const float> logits, bool keeps_logits, std::uint64_t run) {
  Prediction prediction{.candidates = inference::top_candidates(logits, kPredictedCandidates),
                        .entropy = inference::entropy(logits),
                        .logits = nullptr,
                        .run = run};
  if (keeps_logits) prediction.logits = std::make_shared<const std::vector<float>>(logits.begin(), logits.end());
  return prediction;
}

PredictionPosition prediction_position(const State& state, const EngineResult& result) {
  const model::ModelInput& input = *result.input;
  return prediction_position(
      {.input = input,
       .model = result.model.get(),
       .batch = state.selection.batch,
       .row = pins_predicted_row(state, input) ? std::optional(state.view.pinned->query) : std::nullopt});
}

std::uint32_t predicting_layers(const model::Network& network) {
  const model::Layers& layers = *network.layers;
  return static_cast<std::uint32_t>(layers.decoder.empty() ? layers.encoder.size() : layers.decoder.size());
}

namespace {

using Kind = PredictionPosition::Kind;

}  // namespace

const model::TokenBatch& predicted_tokens(const model::ModelInput& input) {
  return input.target ? *input.target : input.source;
}

std::optional<std::uint32_t> mask_token(const inference::LanguageModel* model) {
  if (model == nullptr) return std::nullopt;
  if (model->tokenizer && model->tokenizer->special().mask) return model->tokenizer->special().mask;
  return model->description.ids.mask;
}

bool predicts_next(const inference::LanguageModel* model) {
  return model == nullptr || model->description.is_causal || model->description.is_encoder_decoder;
}

PredictionPosition prediction_position(const PredictedText& text) {
  const model::TokenBatch& tokens = predicted_tokens(text.input);
  PredictionPosition position;
  position.batch = std::min(text.batch, std::max(tokens.batch, 1U) - 1);
  position.first = tokens.start(position.batch);
  position.end = position.first + (position.batch < tokens.lengths.size() ? tokens.lengths[position.batch] : tokens.length);
  const auto id_at = [&](std::uint32_t token) {
    const std::size_t at = std::size_t{position.batch} * tokens.length + token;
    return at < tokens.ids.size() ? std::optional(tokens.ids[at]) : std::nullopt;
  };
  const std::optional<std::uint32_t> mask = mask_token(text.model);
  const bool is_next = predicts_next(text.model);
  const auto kind_at = [&](std::uint32_t token) {
    if (is_next) return Kind::Next;
    return mask && id_at(token) == mask ? Kind::Masked : Kind::InPlace;
  };
  position.token = position.end > position.first ? position.end - 1 : position.first;
  if (text.row && *text.row >= position.first && *text.row < position.end) {
    position.token = *text.row;
    position.is_chosen = true;
  } else if (!is_next) {
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

std::string predicted_label(const inference::LanguageModel* model, std::uint32_t id) {
  const text::Tokenizer* tokenizer = model != nullptr ? model->predicted_tokenizer() : nullptr;
  std::string label = tokenizer != nullptr ? tokenizer->label(id) : std::string();
  return label.empty() ? fmt::format("id {}", id) : label;
}

}  // namespace headlight::app
