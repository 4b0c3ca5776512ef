#pragma once

#include "app/data/prompts/fitted_prompt.h"
#include "app/engine/analyses/patching.h"
#include "app/engine/model_cache.h"
#include "app/shapes/quantities/task.h"
#include "app/state/state.h"
#include "app/state/what_if_settings.h"

namespace headlight::app {

/// What is asked of every prompt of a set, by one model.
struct PromptQuestion {
  RunInputs inputs = {};  ///< of a model; its text doesn't count
  std::string set = {};   ///< PromptsSettings::set
  PromptExperiment experiment = {};
  Ablation ablation = {};                   ///< of Knockouts
  bool measures_loss = false;               ///< of Knockouts: the text's loss, else the answer's logit and probability
  PatchingChoices patching = {};            ///< of Patching map, part, direction; of Paths receiver and direction
  std::string position = {};                ///< where heads are patched; empty: at all tokens
  std::string lens = {};                    ///< of Lens: file of a linear lens; empty: the logit lens
  evaluation::PatternScoring scoring = {};  ///< of Metrics

  bool operator==(const PromptQuestion&) const = default;
  /// Does an answer need a run of the corrupted text?
  bool reads_corrupted() const;
};

/// What the choices ask, of the run's inputs; what the experiment doesn't read is left as it is in a new question, and
/// changes that were kept of the present text are left out.
PromptQuestion prompt_question(const State& state, const RunInputs& inputs);

/// What was measured of one prompt.
struct PromptNumbers {
  std::optional<PatchedNumbers> own = {};  ///< of the text as it is; none: its answer doesn't fit
  /// [measure][row · columns + column], a measure being a KnockoutMeasure, PatchMeasure, LensMeasure or HeadMetric, or 0 of
  /// an attribution; NaN: it has no such cell. Empty: not measured.
  std::vector<std::vector<float>> cells = {};
  std::string error = {};  ///< one line: why it couldn't be measured
};

/// A set as a model reads it, and what was measured so far. A snapshot is cheap to copy.
struct PromptFindings {
  std::shared_ptr<const PromptSet> set = {};
  std::shared_ptr<const std::vector<FittedPrompt>> fitted = {};    ///< [prompt]
  std::vector<std::shared_ptr<const PromptNumbers>> numbers = {};  ///< [prompt]; null: not yet, or left out
  std::vector<std::string> left_out = {};                          ///< [prompt] why; empty: it is in
  std::vector<std::uint32_t> layers = {};                          ///< [row]; of Lens how many layers came before
  std::vector<std::string> columns = {};                           ///< "3" of a head, else a name
  std::optional<PathReceiver> receiver = {};                       ///< of Paths where the question chooses none: found
  std::string search = {};                                         ///< how far it is looked for; empty: it isn't
  std::string error = {};                                          ///< one line: why there is nothing

  std::size_t prompts() const { return left_out.size(); }
  std::size_t included() const { return static_cast<std::size_t>(std::ranges::count(left_out, std::string())); }
  std::size_t measured() const { return prompts() - static_cast<std::size_t>(std::ranges::count(numbers, nullptr)); }
  /// How many couldn't be measured.
  std::size_t failed() const;
  /// "2 of 32 prompts couldn’t be measured: …", why the first of them; empty: none failed so far.
  std::string failure() const;
  /// Why nothing can be shown; empty: something can, or nothing is known yet.
  std::string problem() const;
  bool is_complete() const { return !error.empty() || (set && measured() == included()); }
  /// None: not known, not finite, or the prompt has no such cell.
  std::optional<double> value(std::size_t prompt, std::size_t measure, std::size_t cell) const;
};

/// One number of several prompts.
struct PromptSpread {
  double mean = 0.0;
  double deviation = 0.0;  ///< standard deviation of a sample: divided by count − 1; unknown, and 0 here, of one number
  std::size_t count = 0;
  std::size_t lowest = 0, highest = 0;  ///< prompts; of equal ones the first
};
/// Of a number of each prompt, in their order; those without one don't count.
PromptSpread spread_of(std::span<const std::optional<double>> values);
/// Of all that are known.
PromptSpread spread_of(const PromptFindings& findings, std::size_t measure, std::size_t cell);

/// Whose mean is farthest from 0, of equal ones the first; none: no prompt has any.
std::optional<std::size_t> strongest_cell(const PromptFindings& findings, std::size_t measure);

/// Reads the set and fits it to the model. Throws Error in one line.
Task<PromptFindings> fit_set(PromptQuestion question, std::shared_ptr<ModelCache> models);

/// Reports the findings so far, after each prompt.
using TellPrompts = std::function<void(const PromptFindings&)>;

/// Measures the prompts that have no numbers yet: texts and corrupted texts of some dozens at a time are items of one run
/// each, with padding, of which the analyses answer one item after the other. Throws what runs throw. Of paths without a
/// chosen receiver one is found first, by the means of the logit: heads that others come before are tried from the one whose
/// output of the other text changes it the most on, three at most, until a path into one changes it by a twentieth of that;
/// the strongest path leads into the receiver.
Task<PromptFindings> measure_set(PromptQuestion question, PromptFindings findings, TellPrompts tell);

/// Both, from what is known. Never throws: an error is one of the findings.
Task<PromptFindings> measure_prompts(PromptQuestion question, std::shared_ptr<ModelCache> models, PromptFindings known,
                                     TellPrompts tell);

}  // namespace headlight::app
