#pragma once

#include "app/shapes/quantities/task.h"
#include "app/state/state.h"
#include "attention/mask.h"
#include "model/network.h"

namespace headlight::app {

/// Returns the self-attention of a model with one stack, at this layer.
inline model::BlockRef encoder_block(std::uint32_t layer) {
  return {.kind = model::BlockKind::EncoderSelf, .layer = LayerIndex{layer}};
}

// An analysis is a question, a plain value whose equal ones are the same question; a result; and a function
// analyse(question, subject), a Task of the result. It throws Error in one line where the run can't be analysed, or the
// question names nothing in it: the message is shown in place of a result. AnalysisQuery
// (analysis_query.h) holds any question.

/// The result of an analysis; each analysis has a type of its own.
struct AnalysisResult {
  AnalysisResult() = default;
  virtual ~AnalysisResult() = default;

 protected:
  AnalysisResult(const AnalysisResult&) = default;
  AnalysisResult& operator=(const AnalysisResult&) = default;
};

/// The run that is analysed, without what only the device has.
struct AnalysisSubject {
  std::shared_ptr<const model::Network> network;
  std::shared_ptr<const model::ModelInput> input;
  std::shared_ptr<const RunInputs> inputs;
  std::shared_ptr<const inference::LanguageModel> model = {};  ///< null: not a model's, or the baseline's
  BlockShapes shapes;
  bool has_logits = false;
  /// For analyses that compare: every token of the baseline has a counterpart in this run.
  bool covers_baseline = true;
};

/// An analysis query's answer.
struct Analysed {
  std::shared_ptr<const AnalysisResult> result = {};  ///< so far; null: nothing yet, or `error`
  std::string error = {};                             ///< one line: why there is none
  bool is_done = false;
  std::uint64_t run = 0;  ///< of the engine; an older one's until the newest run is analysed

  /// Returns the result as the type that its analysis has; null where there is none.
  template <typename Result>
  const Result* as() const {
    return dynamic_cast<const Result*>(result.get());
  }
};

/// Returns the tokens of a batch item that are no padding; all `length` where the batch doesn't say.
inline attention::KeyRange real_tokens(const model::TokenBatch& tokens, std::uint32_t item, std::uint32_t length) {
  if (item >= tokens.lengths.size()) return {length};
  return {tokens.start(item), tokens.start(item) + tokens.lengths[item]};
}

/// Returns ln Σ exp of logits, at least one.
inline double log_sum_exp(std::span<const float> logits) {
  const auto largest = static_cast<double>(*std::ranges::max_element(logits));
  double sum = 0.0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - largest);
  return largest + std::log(sum);
}

}  // namespace headlight::app
