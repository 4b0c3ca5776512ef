#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "app/data/checkpoints/step_series.h"
#include "app/engine/analyses/head_metrics.h"
#include "app/engine/model_cache.h"
#include "app/shapes/quantities/task.h"

namespace headlight::app {

/// The question that every step is measured by: the same text, masks and changes, with other weights.
struct StepQuestion {
  RunInputs inputs;  ///< of any step of the series
  model::BlockKind kind = {};
  std::uint32_t batch = 0;

  bool operator==(const StepQuestion&) const = default;
};

/// The numbers of one step.
struct StepNumbers {
  std::map<HeadRef, evaluation::HeadMetrics> heads = {};
  /// Mean over the line's tokens, of a pair its target's, of −ln p(token | tokens before it), nats; none: no LM.
  std::optional<double> loss = {};
  std::optional<double> in_context = {};  ///< in_context_score() of the line
  std::string error = {};                 ///< one line: why there are none
};

/// Whose losses in_context_score() subtracts in a text of so many tokens, in words.
std::string in_context_words(std::size_t tokens);

/// The findings of each step, by path and time of its files.
using StepsMeasured = std::map<std::pair<std::string, std::int64_t>, std::shared_ptr<const StepNumbers>>;

/// The steps that are measured, and the question.
struct StepsWanted {
  StepQuestion question;
  std::vector<SeriesStep> steps;
  std::shared_ptr<const std::atomic<std::size_t>> shown;  ///< the nearest to this one come first
  std::shared_ptr<ModelCache> models;
};

/// Measures the steps that aren't in `known`, one after the other, and tells after each. What fails is the step's own error.
Task<StepsMeasured> measure_steps(StepsWanted wanted, StepsMeasured known, std::function<void(const StepsMeasured&)> tell);

}  // namespace headlight::app
