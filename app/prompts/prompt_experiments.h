#pragma once

#include "app/engine/query_queue.h"
#include "app/prompts/prompt_meter.h"

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

/// What is patched layer by layer: the choice's map, where it is one of heads or of tokens, else the residual stream.
PatchMap patched_map(const PatchingChoices& choices);

/// Gives the findings their rows and columns.
void name_cells(const PromptQuestion& question, const model::Network& network, PromptFindings& findings);

/// PromptNumbers::cells of one prompt. `answer`: answers a question about the run; throws what analyses throw.
using PromptAnswer = std::function<std::shared_ptr<const AnalysisResult>(const AnalysisQuery&)>;
std::vector<std::vector<float>> measure_prompt(const PromptQuestion& question, const PromptFindings& findings,
                                               const PromptItem& item, const AnalysisSubject& subject,
                                               const PromptAnswer& answer);

/// measure_set() of paths without a chosen receiver.
void measure_found_paths(Runner& runner, const std::shared_ptr<ModelCache>& models, const PromptQuestion& question,
                         PromptFindings& findings, const std::function<void()>& checkpoint,
                         const std::function<void()>& tell);

}  // namespace headlight::app
