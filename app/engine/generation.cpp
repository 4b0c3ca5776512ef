#include "app/engine/generation.h"

#include <algorithm>

#include "app/engine/continuation.h"
#include "core/error.h"

namespace headlight::app {
namespace {

constexpr std::size_t kMaxPending = 4;  // bytes of the longest character

bool ends_text(const EngineResult& result, std::uint32_t id) {
  const inference::LanguageModel& model = *result.model;
  if (std::ranges::find(model.description.ids.eos, id) != model.description.ids.eos.end()) return true;
  return model.predicted_tokenizer() != nullptr && model.predicted_tokenizer()->special().end == id;
}

/// The items' ids, unchanged or with more after those of one item.
std::vector<std::vector<std::uint32_t>> all_ids(const EngineResult& result, std::uint32_t item,
                                                const std::vector<std::uint32_t>& ids) {
  const bool has_target = result.model->description.is_encoder_decoder;
  const std::size_t items = (has_target ? result.prompt->target_tokens : result.prompt->tokens).size();
  std::vector<std::vector<std::uint32_t>> all;
  for (std::uint32_t i = 0; i < items; ++i) all.push_back(i == item ? ids : predicted_ids(result, i));
  return all;
}

}  // namespace

void Generation::start(State& state, const EngineResult& result) {
  outcome_.clear();
  count_ = 0;
  pending_.clear();
  if (!result.model || !result.prompt || !result.has_logits || !predicts_next(result)) return;
  item_ = prediction_position(state, result).batch;
  most_ = state.generation.tokens;
  take_over_translation(state, result.translated.get());
  model_ = state.model();
  sampler_.emplace(state.generation.sampling);
}

void Generation::stop(State& state, std::string outcome) {
  if (!is_running()) return;
  if (!pending_.empty() && !was_changed(state)) {
    (result_has_target_ ? state.model().target_ids : state.model().ids).clear();
  }
  pending_.clear();
  sampler_.reset();
  outcome_ = std::move(outcome);
}

bool Generation::was_changed(const State& state) const { return state.model() != model_; }

PredictionQuery Generation::request(const EngineResult& result) const {
  const model::TokenBatch& tokens = result.input->target ? *result.input->target : result.input->source;
  const std::uint32_t item = std::min(item_, tokens.batch - 1);
  return {.batch = item,
          .token = tokens.start(item) + std::max(tokens.lengths[item], 1u) - 1,
          .layer = predicting_layers(*result.network),
          .keeps_logits = true};
}

void Generation::step(State& state, const EngineResult& result) {
  if (!is_running()) return;
  if (was_changed(state)) return stop(state, "stopped: the text was changed");
  const Prediction* prediction = result.prediction(request(result));
  if (!prediction || prediction->run != result.run || !prediction->logits) return;
  try {
    take(state, result, sampler_->choose(*prediction->logits));
  } catch (const Error& error) {
    return stop(state, error.what());
  }
  model_ = state.model();
  if (is_running() && count_ >= most_ && pending_.empty()) stop(state, fmt::format("{} tokens", count_));
}

void Generation::take(State& state, const EngineResult& result, std::uint32_t id) {
  if (ends_text(result, id)) return stop(state, "the model ended the text");
  result_has_target_ = result.model->description.is_encoder_decoder;
  std::vector<std::vector<std::uint32_t>>& given = result_has_target_ ? state.model().target_ids : state.model().ids;
  if (!given.empty() && pending_.empty()) {  // the user gave ids: the text continues as ids
    given.at(std::min<std::size_t>(item_, given.size() - 1)).push_back(id);
    ++count_;
    return;
  }
  const text::Tokenizer* tokenizer = result.model->predicted_tokenizer();
  if (tokenizer == nullptr) return stop(state, "the model has no tokenizer");
  if (pending_.empty()) before_ = predicted_ids(result, item_);
  pending_.push_back(id);
  const std::string text = continuation_text(*tokenizer, before_, pending_);
  if (text.find('\n') != std::string::npos && !take_line_breaks(state)) return stop(state, "the model began a new line");
  if (state.model().is_chat && !take_line_breaks(state))
    return stop(state, "an answer needs a text of its own, not a line of a batch");
  ++count_;
  if (text.empty() || (ends_inside_character(text) && pending_.size() < kMaxPending)) {
    std::vector<std::uint32_t> ids = before_;
    ids.insert(ids.end(), pending_.begin(), pending_.end());
    if (text.empty() && pending_.size() > kMaxPending) return stop(state, "the model has nothing to say that has a text");
    given = all_ids(result, item_, ids);
    return;
  }
  given.clear();
  pending_.clear();
  append_to_item(state, result, item_, text);
}

}  // namespace headlight::app
