#pragma once

#include "app/data/prompts/prompt_meter.h"

namespace headlight::app {

/// A prompt as an item of a run.
struct PromptItem {
  const FittedPrompt& prompt;
  std::uint32_t batch = 0;
  std::uint32_t start = 0;  ///< its first token in the run: padding may come before

  MeasuredToken measured() const {
    return {.batch = batch, .position = start + prompt.end, .token = prompt.answer, .other = prompt.wrong};
  }
};

/// Returns the map that is patched layer by layer: the choice's map, where it is one of heads or of tokens, else the
/// residual stream.
PatchMap patched_map(const PatchingChoices& choices);

/// Gives the findings their rows and columns.
void name_cells(const PromptQuestion& question, const model::Network& network, PromptFindings& findings);

/// PromptNumbers::cells of one prompt of the run that the task is of; whoever awaits it keeps what it is given. Throws what
/// analyses throw.
Task<std::vector<std::vector<float>>> measure_prompt(const PromptQuestion& question, const PromptFindings& findings,
                                                     const PromptItem& item, const AnalysisSubject& subject);

/// measure_set() of paths without a chosen receiver.
Task<PromptFindings> measure_found_paths(PromptQuestion question, PromptFindings findings, TellPrompts tell);

}  // namespace headlight::app
