#pragma once

#include "app/data/prompts/prompt_set.h"
#include "app/state/prompts_settings.h"
#include "app/state/state.h"
#include "inference/language_model.h"

namespace headlight::app {

/// The name of the last token of a text, after which the answer follows.
inline constexpr const char* kEndPosition = "end";

/// A prompt as a model reads it, and why experiments leave it out.
struct FittedPrompt {
  std::vector<std::uint32_t> ids = {}, corrupted = {};  ///< of the texts, with the model's special tokens
  /// The last token of each named span, and `end`, in the order of the prompt's positions.
  std::vector<std::pair<std::string, std::uint32_t>> positions = {};
  std::uint32_t end = 0;
  std::uint32_t answer = 0;  ///< id, where there is no answer_problem
  std::optional<std::uint32_t> wrong = {};

  // Each in one line; empty: there is none.
  std::string problem = {};            ///< leaves it out of everything
  std::string answer_problem = {};     ///< … of what measures the answer
  std::string corrupted_problem = {};  ///< … of what takes activations from the corrupted text

  /// Why the experiment leaves it out; empty: it is in. `reads_corrupted`: its answer needs a run of the corrupted text.
  const std::string& why_out(PromptExperiment experiment, bool reads_corrupted) const;
  std::optional<std::uint32_t> position(const std::string& name) const;
};

/// Never throws: what the model can't read is a problem of the prompt. The answer is the one token that follows the text
/// where both are tokenized together, else the one that it is by itself.
FittedPrompt fit_prompt(const SetPrompt& prompt, const inference::LanguageModel& model, bool adds_special);

/// The sets that come along, as the choice names them.
struct BundledPrompts {
  const char *id, *title;
  std::size_t count;  ///< of its prompts
};
std::span<const BundledPrompts> bundled_prompts();
/// The file of a chosen set: one that comes along by its id, else a path.
std::filesystem::path prompt_set_file(const std::string& chosen);

}  // namespace headlight::app
