#include "app/data/prompts/prompt_meter.h"

#include <numeric>

#include "app/data/prompts/prompt_experiments.h"
#include "app/state/predictions_settings.h"
#include "core/error.h"
#include "core/utf8.h"

namespace headlight::app {
namespace {

/// Items of one run, and their tokens with padding, at most.
constexpr std::size_t kMaxItems = 32, kMaxBatchTokens = 4'096;

/// Prompts that are in and have no numbers, in their order, as many as are one run of `most` items.
std::vector<std::size_t> next_items(const PromptFindings& findings, std::size_t most) {
  std::vector<std::size_t> items;
  std::size_t longest = 0;
  for (std::size_t at = 0; at < findings.prompts() && items.size() < most; ++at) {
    if (findings.numbers[at] || !findings.left_out[at].empty()) continue;
    longest = std::max(longest, (*findings.fitted)[at].ids.size());
    if (!items.empty() && longest * (items.size() + 1) > kMaxBatchTokens) break;
    items.push_back(at);
  }
  return items;
}

std::shared_ptr<const NamedRun> run_of(const PromptQuestion& question, const PromptFindings& findings,
                                       const std::vector<std::size_t>& items) {
  const auto inputs_of = [&](std::vector<std::uint32_t> FittedPrompt::*ids) {
    auto inputs = std::make_shared<RunInputs>(question.inputs);
    for (const std::size_t at : items) std::get<Model>(inputs->source).ids.push_back((*findings.fitted)[at].*ids);
    return inputs;
  };
  NamedRun named{.inputs = inputs_of(&FittedPrompt::ids)};
  if (question.reads_corrupted()) named.baseline = inputs_of(&FittedPrompt::corrupted);
  return std::make_shared<const NamedRun>(std::move(named));
}

/// The numbers of one prompt of the run that the task names.
Task<std::shared_ptr<const PromptNumbers>> numbers_of(const PromptQuestion& question, const PromptFindings& findings,
                                                      const PromptItem& item, const AnalysisSubject& subject) {
  auto numbers = std::make_shared<PromptNumbers>();
  try {
    if (item.prompt.answer_problem.empty()) {
      Reads reads;
      reads.logits.push_back(measured_state(item.measured(), subject));
      const Answers read = co_await std::move(reads);
      numbers->own = patched_numbers(read.logits, item.measured());
    }
    numbers->cells = co_await measure_prompt(question, findings, item, subject);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Other && error.kind() != ErrorKind::InvalidInput) throw;
    numbers->error = error.what();
  }
  co_return numbers;
}

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

Task<PromptFindings> fit_set(PromptQuestion question, std::shared_ptr<ModelCache> models) {
  PromptFindings findings;
  const auto& choice = std::get<Model>(question.inputs.source);
  const auto model = models->open(choice.path);
  if (!model->tokenizer) throw Error("{}", model->tokenizer_problem);
  findings.set = std::make_shared<const PromptSet>(read_prompt_set(prompt_set_file(question.set)));
  std::vector<FittedPrompt> fitted;
  for (const SetPrompt& prompt : findings.set->prompts) {
    co_await read_nothing();
    fitted.push_back(fit_prompt(prompt, *model, choice.adds_special));
    findings.left_out.push_back(fitted.back().why_out(question.experiment, question.reads_corrupted()));
    if (findings.left_out.back().empty() && !question.position.empty() && !fitted.back().position(question.position))
      findings.left_out.back() = fmt::format("it has no position \u201C{}\u201D", question.position);
  }
  findings.numbers.resize(fitted.size());
  findings.fitted = std::make_shared<const std::vector<FittedPrompt>>(std::move(fitted));
  name_cells(question, *model->network, findings);
  co_return findings;
}

Task<PromptFindings> measure_set(PromptQuestion question, PromptFindings findings, TellPrompts tell) {
  if (question.experiment == PromptExperiment::Paths && !question.patching.receiver.is_chosen()) {
    PromptFindings found = co_await measure_found_paths(question, findings, tell);
    co_return found;
  }
  std::size_t most = kMaxItems;  // items of one run
  for (std::vector<std::size_t> items = next_items(findings, most); !items.empty(); items = next_items(findings, most)) {
    const std::shared_ptr<const NamedRun> run = run_of(question, findings, items);
    for (std::size_t item = 0; item < items.size(); ++item) {
      std::shared_ptr<const PromptNumbers>& numbers = findings.numbers[items[item]];
      try {
        Reads facts;
        facts.named = run;
        const Answers known = co_await std::move(facts);
        // Without copies of a line a change is a pass of all lines: then prompts are computed one by one.
        if (known.refuses_copies && items.size() > 1) {
          most = 1;
          break;
        }
        const auto index = static_cast<std::uint32_t>(item);
        const PromptItem asked{
            .prompt = (*findings.fitted)[items[item]], .batch = index, .start = known.subject->input->source.start(index)};
        numbers = co_await numbers_of(question, findings, asked, *known.subject).of(run);
      } catch (const Error& error) {
        // If the device has no memory for all of them, fewer are taken from then on.
        if (error.kind() == ErrorKind::OutOfDeviceMemory && items.size() > 1) {
          most = items.size() / 2;
          break;
        }
        // A prompt that can't be computed lacks its own numbers only.
        const bool is_of_prompt = error.kind() == ErrorKind::OutOfDeviceMemory || error.kind() == ErrorKind::InvalidInput;
        if (!is_of_prompt || items.size() > 1) throw;
        PromptNumbers failed;
        failed.error = error.what();
        numbers = std::make_shared<const PromptNumbers>(std::move(failed));
      }
      tell(findings);
    }
  }
  co_return findings;
}

Task<PromptFindings> measure_prompts(PromptQuestion question, std::shared_ptr<ModelCache> models, PromptFindings known,
                                     TellPrompts tell) {
  try {
    if (!known.set) known = co_await fit_set(question, models);
    tell(known);
    const TellPrompts keep = [&](const PromptFindings& so_far) { tell(known = so_far); };
    known = co_await measure_set(question, known, keep);
  } catch (const std::exception& error) {
    known.error = one_line(error.what());
  }
  co_return known;
}

}  // namespace headlight::app
