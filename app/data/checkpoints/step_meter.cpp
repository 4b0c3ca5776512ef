#include "app/data/checkpoints/step_meter.h"

#include "app/engine/analyses/token_losses.h"
#include "core/error.h"

namespace headlight::app {
namespace {

/// Measures one step, by the run that the task names.
Task<StepNumbers> numbers_of_step(const StepQuestion& question, const AnalysisSubject& run) {
  StepNumbers numbers;
  const HeadMetricsQuestion metrics{.kind = question.kind, .batch = question.batch};
  HeadMetricsFound found = co_await analyse(metrics, run);
  numbers.heads = std::move(found.heads);
  const bool is_pair = run.input->target.has_value();
  const bool predicts = run.model && run.has_logits && (is_pair || run.model->description.is_causal);
  const model::TokenBatch& tokens = is_pair ? *run.input->target : run.input->source;
  const attention::KeyRange line = real_tokens(tokens, question.batch, tokens.length);
  if (!predicts || line.end - line.begin < 2) co_return numbers;
  const TokenLossesQuestion of_tokens{.batch = question.batch};
  const TokenLosses told = co_await analyse(of_tokens, run);
  numbers.loss = mean_loss(told.losses);
  if (is_pair) co_return numbers;
  if (const auto score = in_context_score(told.losses)) numbers.in_context = score->score;
  co_return numbers;
}

Task<StepNumbers> measure_step(const StepsWanted& wanted, SeriesStep step) {
  auto inputs = std::make_shared<RunInputs>(wanted.question.inputs);
  inputs->source = source_at(std::move(inputs->source), step);
  const auto newest = is_model(inputs->source) ? wanted.models->open_newest(step.path) : nullptr;
  const auto run = std::make_shared<const NamedRun>(NamedRun{.inputs = inputs, .is_beside = true});
  Reads facts;
  facts.named = run;
  const Answers known = co_await std::move(facts);
  const StepNumbers numbers = co_await numbers_of_step(wanted.question, *known.subject).of(run);
  co_return numbers;
}

/// The place of the next step; none: all are known.
std::optional<std::size_t> next_step(const StepsWanted& wanted, const StepsMeasured& known) {
  std::optional<std::size_t> next;
  const std::size_t shown = *wanted.shown;
  const auto distance = [&](std::size_t place) { return place > shown ? place - shown : shown - place; };
  for (std::size_t i = 0; i < wanted.steps.size(); ++i) {
    const bool is_missing = !known.contains({wanted.steps[i].path, wanted.steps[i].stamp});
    if (is_missing && (!next || distance(i) < distance(*next))) next = i;
  }
  return next;
}

}  // namespace

std::string in_context_words(std::size_t tokens) {
  return tokens > 500 ? "token 500 \u2212 token 50" : "last \u2212 second tenth";
}

Task<StepsMeasured> measure_steps(StepsWanted wanted, StepsMeasured known, std::function<void(const StepsMeasured&)> tell) {
  while (const std::optional<std::size_t> next = next_step(wanted, known)) {
    const SeriesStep step = wanted.steps[*next];
    auto numbers = std::make_shared<StepNumbers>();
    try {
      *numbers = co_await measure_step(wanted, step);
    } catch (const std::exception& error) {
      numbers->error = one_line(error.what());
    }
    known.insert_or_assign({step.path, step.stamp}, std::move(numbers));
    tell(known);
    co_await read_nothing();
  }
  co_return known;
}

}  // namespace headlight::app
