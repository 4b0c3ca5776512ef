#include "app/prompts/prompt_meter.h"

#include <numeric>

#include "app/engine/changed_runs.h"
#include "app/prompts/prompt_experiments.h"
#include "app/state/predictions_settings.h"
#include "core/error.h"
#include "core/utf8.h"

namespace headlight::app {
namespace {

/// Items of one run, and their tokens with padding, at most.
constexpr std::size_t kMaxItems = 32, kMaxBatchTokens = 4'096;

using IdLists = std::vector<std::vector<std::uint32_t>>;

/// Runs of some prompts, an item each.
struct PromptRuns {
  RunSource::Source source;
  std::shared_ptr<const RunInputs> inputs;
  std::shared_ptr<const inference::Run> run, corrupted;
};

class PromptMeter {
 public:
  PromptMeter(Runner& runner, std::shared_ptr<ModelCache> models, const PromptQuestion& question, PromptFindings& findings,
              const std::function<void()>& checkpoint)
      : runner_(runner), question_(question), findings_(findings), checkpoint_(checkpoint), sources_(std::move(models)) {}

  /// Prompts that are in and have no numbers, in their order, as many as are one run.
  std::vector<std::size_t> next_items() const {
    std::vector<std::size_t> items;
    std::size_t longest = 0;
    for (std::size_t at = 0; at < findings_.prompts() && items.size() < most_; ++at) {
      if (findings_.numbers[at] || !findings_.left_out[at].empty()) continue;
      longest = std::max(longest, fitted(at).ids.size());
      if (!items.empty() && longest * (items.size() + 1) > kMaxBatchTokens) break;
      items.push_back(at);
    }
    return items;
  }

  /// Where the device has no memory for all of them, fewer are taken from then on.
  PromptRuns compute(std::vector<std::size_t>& items) {
    for (;;) {
      try {
        return compute_all(items);
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::OutOfDeviceMemory || items.size() == 1) throw;
        items.resize(most_ = items.size() / 2);
      }
    }
  }

  void measure(const std::vector<std::size_t>& items, const std::function<void()>& tell) {
    std::vector<std::size_t> together = items;
    PromptRuns runs;
    try {
      runs = compute(together);
    } catch (const Error& error) {
      // What one prompt can't be computed for costs its own numbers only.
      const bool is_of_prompt = error.kind() == ErrorKind::OutOfDeviceMemory || error.kind() == ErrorKind::InvalidInput;
      if (!is_of_prompt || together.size() > 1) throw;
      PromptNumbers failed;
      failed.error = error.what();
      findings_.numbers[together.front()] = std::make_shared<const PromptNumbers>(std::move(failed));
      return tell();
    }
    const AnalysisSubject subject{.network = runs.source.network,
                                  .input = runs.source.input,
                                  .inputs = runs.inputs,
                                  .shapes = shapes_of(*runs.run),
                                  .has_logits = runs.run->has_logits()};
    changes_.clear();
    const PassBases bases{.run = runs.run, .baseline = runs.corrupted, .baseline_itself = runs.corrupted};
    const auto answer = [&](const AnalysisQuery& query) {
      return answer_at_once(query, subject,
                            {.run = *runs.run, .baseline = runs.corrupted.get(), .baseline_itself = runs.corrupted.get()},
                            checkpoint_, [&](const Reads& reads, std::uint32_t line, std::size_t most) {
                              return changes_.compute(runner_, bases, reads, line, most);
                            });
    };
    for (std::uint32_t item = 0; item < together.size(); ++item) {
      const FittedPrompt& prompt = fitted(together[item]);
      auto numbers = std::make_shared<PromptNumbers>();
      try {
        const PromptItem asked{.prompt = prompt, .batch = item, .start = runs.source.input->source.start(item)};
        if (prompt.answer_problem.empty()) numbers->own = predicted(*runs.run, asked.measured(), subject);
        numbers->cells = measure_prompt(question_, findings_, asked, subject, answer);
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::Other && error.kind() != ErrorKind::InvalidInput) throw;
        numbers->error = error.what();
      }
      findings_.numbers[together[item]] = std::move(numbers);
      tell();
      // Without copies of a line a change is a pass of all lines: then prompts are computed one by one.
      if (changes_.refuses_copies() && most_ > 1) {
        most_ = 1;
        return;
      }
    }
  }

 private:
  const FittedPrompt& fitted(std::size_t prompt) const { return (*findings_.fitted)[prompt]; }

  std::shared_ptr<const inference::Run> compute_text(const IdLists& ids, PromptRuns& runs) {
    checkpoint_();
    RunInputs inputs = question_.inputs;
    std::get<Model>(inputs.source).ids = ids;
    runs.source = sources_.build(
        inputs, [&](const model::Network& network, const model::ModelInput& input) { runner_.expect_room(network, input); });
    runs.inputs = std::make_shared<const RunInputs>(inputs);
    runner_.load(runs.source.network->layers, precision_of(inputs.source), [&](std::size_t, std::size_t) {
      checkpoint_();
      return true;
    });
    return compute_run(runner_, runs.source, inputs, nullptr);
  }

  PromptRuns compute_all(const std::vector<std::size_t>& items) {
    PromptRuns runs;
    IdLists texts, corrupted;
    for (const std::size_t at : items) {
      texts.push_back(fitted(at).ids);
      corrupted.push_back(fitted(at).corrupted);
    }
    if (question_.reads_corrupted()) runs.corrupted = compute_text(corrupted, runs);
    runs.run = compute_text(texts, runs);
    return runs;
  }

  static PatchedNumbers predicted(const inference::Run& run, const MeasuredToken& measured, const AnalysisSubject& subject) {
    const inference::StateRef state = measured_state(measured, subject);
    return patched_numbers(run.logits(std::span(&state, 1)).values, measured);
  }

  Runner& runner_;
  const PromptQuestion& question_;
  PromptFindings& findings_;
  const std::function<void()>& checkpoint_;
  RunSource sources_;
  ChangedRuns changes_;
  std::size_t most_ = kMaxItems;  ///< items of one run
};

}  // namespace

bool PromptQuestion::reads_corrupted() const {
  return experiment == PromptExperiment::Patching || experiment == PromptExperiment::Paths ||
         (experiment == PromptExperiment::Knockouts && ablation == Ablation::BaselineMean);
}

PromptQuestion prompt_question(const State& state, const RunInputs& inputs) {
  PromptQuestion question{.inputs = inputs, .set = state[kPromptsView.set], .experiment = state[kPromptsView.experiment]};
  question.inputs.changes.clear();
  if (auto* model = std::get_if<Model>(&question.inputs.source)) {
    model->text.clear();
    model->pair_text.clear();
    model->ids.clear();
    model->joins_lines = model->is_chat = false;
  }
  using enum PromptExperiment;
  const PatchingChoices& patching = state.patching;
  const PromptExperiment experiment = question.experiment;
  if (experiment == Knockouts) question.ablation = state[kWhatIfView.ablation];
  if (experiment == Knockouts) question.measures_loss = state[kWhatIfView.measure] == KnockoutMeasure::Loss;
  if (experiment == Patching) question.patching.map = patched_map(patching);
  if (question.patching.map == PatchMap::Heads) question.patching.part = patching.part;
  if (experiment == Paths) question.patching.receiver = patching.receiver;
  if (experiment == Patching || experiment == Paths) question.patching.into_baseline = patching.into_baseline;
  if (experiment == Lens) question.lens = state[kPredictionsView.lens];
  if (experiment == Metrics) question.scoring = state.heads.scoring;
  const bool is_of_heads = experiment == Paths || question.patching.map == PatchMap::Heads;
  if (is_of_heads && patching.at_token) question.position = state[kPromptsView.position];
  return question;
}

std::optional<double> PromptFindings::value(std::size_t prompt, std::size_t measure, std::size_t cell) const {
  const PromptNumbers* known = numbers[prompt].get();
  if (known == nullptr || measure >= known->cells.size() || cell >= known->cells[measure].size()) return std::nullopt;
  const float value = known->cells[measure][cell];
  return std::isfinite(value) ? std::optional<double>(value) : std::nullopt;
}

std::size_t PromptFindings::failed() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(numbers, [](const auto& known) { return known && !known->error.empty(); }));
}

std::string PromptFindings::failure() const {
  const auto first = std::ranges::find_if(numbers, [](const auto& known) { return known && !known->error.empty(); });
  if (first == numbers.end()) return {};
  return fmt::format("{} of {} prompts couldn\u2019t be measured: {}", failed(), included(), (*first)->error);
}

std::string PromptFindings::problem() const {
  if (!error.empty()) return error;
  if (prompts() > 0 && included() == 0) return fmt::format("no prompt of this set fits: {}", left_out.front());
  return failed() > 0 && failed() == included() ? failure() : std::string();
}

PromptSpread spread_of(std::span<const std::optional<double>> values) {
  PromptSpread spread;
  for (std::size_t at = 0; at < values.size(); ++at) {
    if (!values[at]) continue;
    if (spread.count == 0 || *values[at] < *values[spread.lowest]) spread.lowest = at;
    if (spread.count == 0 || *values[at] > *values[spread.highest]) spread.highest = at;
    spread.mean += *values[at];
    ++spread.count;
  }
  if (spread.count == 0) return spread;
  spread.mean /= static_cast<double>(spread.count);
  for (const std::optional<double>& value : values) {
    if (value) spread.deviation += (*value - spread.mean) * (*value - spread.mean);
  }
  spread.deviation = spread.count > 1 ? std::sqrt(spread.deviation / static_cast<double>(spread.count - 1)) : 0.0;
  return spread;
}

PromptSpread spread_of(const PromptFindings& findings, std::size_t measure, std::size_t cell) {
  std::vector<std::optional<double>> values;
  for (std::size_t prompt = 0; prompt < findings.prompts(); ++prompt)
    values.push_back(findings.value(prompt, measure, cell));
  return spread_of(values);
}

std::optional<std::size_t> strongest_cell(const PromptFindings& findings, std::size_t measure) {
  std::optional<std::size_t> strongest;
  double largest = -1.0;
  for (std::size_t cell = 0; cell < findings.layers.size() * findings.columns.size(); ++cell) {
    const PromptSpread spread = spread_of(findings, measure, cell);
    if (spread.count == 0 || std::abs(spread.mean) <= largest) continue;
    largest = std::abs(spread.mean);
    strongest = cell;
  }
  return strongest;
}

PromptFindings fit_set(const PromptQuestion& question, ModelCache& models, const std::function<void()>& checkpoint) {
  PromptFindings findings;
  const auto& choice = std::get<Model>(question.inputs.source);
  const auto model = models.open(choice.path);
  if (!model->tokenizer) throw Error("{}", model->tokenizer_problem);
  findings.set = std::make_shared<const PromptSet>(read_prompt_set(prompt_set_file(question.set), checkpoint));
  std::vector<FittedPrompt> fitted;
  for (const SetPrompt& prompt : findings.set->prompts) {
    if (checkpoint) checkpoint();
    fitted.push_back(fit_prompt(prompt, *model, choice.adds_special));
    findings.left_out.push_back(fitted.back().why_out(question.experiment, question.reads_corrupted()));
    if (findings.left_out.back().empty() && !question.position.empty() && !fitted.back().position(question.position))
      findings.left_out.back() = fmt::format("it has no position \u201C{}\u201D", question.position);
  }
  findings.numbers.resize(fitted.size());
  findings.fitted = std::make_shared<const std::vector<FittedPrompt>>(std::move(fitted));
  name_cells(question, *model->network, findings);
  return findings;
}

void measure_set(Runner& runner, const std::shared_ptr<ModelCache>& models, const PromptQuestion& question,
                 PromptFindings& findings, const std::function<void()>& checkpoint, const std::function<void()>& tell) {
  if (question.experiment == PromptExperiment::Paths && !question.patching.receiver.is_chosen())
    return measure_found_paths(runner, models, question, findings, checkpoint, tell);
  PromptMeter meter(runner, models, question, findings, checkpoint);
  for (std::vector<std::size_t> items = meter.next_items(); !items.empty(); items = meter.next_items())
    meter.measure(items, tell);
}

}  // namespace headlight::app
