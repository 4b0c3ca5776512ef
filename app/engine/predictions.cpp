#include "app/engine/predictions.h"

#include "app/engine/engine.h"
#include "app/engine/prediction_place.h"

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

}  // namespace headlight::app
