#include "app/data/prompts/fitted_prompt.h"

#include <algorithm>
#include <array>

#include "app/models/starter_view.h"
#include "core/error.h"
#include "core/utf8.h"
#include "inference/prompt.h"

namespace headlight::app {
namespace {

using Tokens = std::vector<text::Token>;

/// Tokens up to the last one that covers bytes of the text: a template may add others after it.
std::size_t count_to_end(const Tokens& tokens) {
  std::size_t count = tokens.size();
  while (count > 0 && tokens[count - 1].bytes.is_empty()) --count;
  return count;
}

std::vector<std::uint32_t> ids_of(const Tokens& tokens) {
  std::vector<std::uint32_t> ids;
  for (const text::Token& token : tokens) ids.push_back(token.id);
  return ids;
}

/// Throws Error where the model can't take the text, or lacks a word of it.
Tokens read_text(const std::string& text, const inference::LanguageModel& model, bool adds_special) {
  const inference::Prompt prompt = make_prompt(model, {.lines = {text}, .adds_special = adds_special});
  for (const text::Token& token : prompt.tokens.front()) {
    if (token.id == model.tokenizer->special().unknown && !token.bytes.is_empty())
      throw Error("the model has no token for \u201C{}\u201D",
                  text.substr(token.bytes.begin, token.bytes.end - token.bytes.begin));
  }
  return prompt.tokens.front();
}

/// The one token that a continuation is. Throws Error where it is several, or none that the model knows.
std::uint32_t read_answer(const std::string& text, const Tokens& tokens, const std::string& answer,
                          const inference::LanguageModel& model, bool adds_special) {
  const Tokens together = model.tokenizer->encode(text + answer, adds_special);
  const std::size_t before = count_to_end(tokens), count = count_to_end(together);
  const bool follows =
      count == before + 1 && std::equal(together.begin(), together.begin() + static_cast<std::ptrdiff_t>(before),
                                        tokens.begin(), [](const auto& a, const auto& b) { return a.id == b.id; });
  const Tokens alone = follows ? Tokens{together[before]} : model.tokenizer->encode(answer, false);
  if (alone.size() != 1) throw Error("\u201C{}\u201D is {} tokens of this model", answer, alone.size());
  if (alone.front().id == model.tokenizer->special().unknown)
    throw Error("the model has no token for \u201C{}\u201D", answer);
  return alone.front().id;
}

/// What `read` throws, in one line; empty: nothing.
template <typename Read>
std::string problem_of(const Read& read) {
  try {
    read();
    return {};
  } catch (const std::exception& error) {
    return one_line(error.what());
  }
}

}  // namespace

const std::string& FittedPrompt::why_out(PromptExperiment experiment, bool reads_corrupted) const {
  if (!problem.empty() || experiment == PromptExperiment::Metrics) return problem;
  return answer_problem.empty() && reads_corrupted ? corrupted_problem : answer_problem;
}

std::optional<std::uint32_t> FittedPrompt::position(const std::string& name) const {
  const auto found = std::ranges::find(positions, name, &std::pair<std::string, std::uint32_t>::first);
  return found == positions.end() ? std::nullopt : std::optional(found->second);
}

FittedPrompt fit_prompt(const SetPrompt& prompt, const inference::LanguageModel& model, bool adds_special) {
  FittedPrompt fitted;
  Tokens tokens;
  fitted.problem = problem_of([&] { tokens = read_text(prompt.text, model, adds_special); });
  if (!fitted.problem.empty()) return fitted;
  fitted.ids = ids_of(tokens);
  fitted.end = static_cast<std::uint32_t>(std::max<std::size_t>(count_to_end(tokens), 1) - 1);
  for (const NamedSpan& span : prompt.positions) {
    for (std::uint32_t at = static_cast<std::uint32_t>(tokens.size()); at-- > 0;) {
      if (tokens[at].bytes.is_empty() || tokens[at].bytes.begin >= span.end || tokens[at].bytes.end <= span.begin) continue;
      fitted.positions.emplace_back(span.name, at);
      break;
    }
  }
  fitted.positions.emplace_back(kEndPosition, fitted.end);
  fitted.answer_problem = problem_of([&] {
    fitted.answer = read_answer(prompt.text, tokens, prompt.answer, model, adds_special);
    if (!prompt.wrong.empty()) fitted.wrong = read_answer(prompt.text, tokens, prompt.wrong, model, adds_special);
    if (fitted.wrong == fitted.answer) throw Error("answer and wrong answer are the same token of this model");
  });
  fitted.corrupted_problem = problem_of([&] {
    if (prompt.corrupted.empty()) throw Error("it has no corrupted text");
    fitted.corrupted = ids_of(read_text(prompt.corrupted, model, adds_special));
    if (fitted.corrupted.size() != fitted.ids.size())
      throw Error("the corrupted text has {} tokens, the text {}", fitted.corrupted.size(), fitted.ids.size());
  });
  return fitted;
}

std::span<const BundledPrompts> bundled_prompts() {
  static constexpr std::array<BundledPrompts, 6> kSets = {{{"ioi", "IOI: the indirect object", 96},
                                                           {"greater-than", "Greater-than: a later year", 64},
                                                           {"induction", "Induction: repeated words", 64},
                                                           {"docstring", "Docstring: the third argument", 64},
                                                           {"subject-verb", "Subject\u2013verb agreement", 64},
                                                           {"color", "Colour: whose shirt", 64}}};
  return kSets;
}

std::filesystem::path prompt_set_file(const std::string& chosen) {
  return is_prompt_file(chosen) ? std::filesystem::path(chosen) : shared_folder() / "prompts" / (chosen + ".jsonl");
}

}  // namespace headlight::app
