#include "app/engine/translation.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "app/engine/continuation.h"
#include "app/engine/engine.h"
#include "app/engine/prompt_lines.h"
#include "inference/decoding.h"

namespace headlight::app {
namespace {

/// A model may never end an unusual text; no translation is this much longer than its source.
constexpr std::size_t kTimesLonger = 2, kMoreTokens = 32, kMaxTokens = 512;

std::size_t longest_target(const inference::LanguageModel& model, const inference::Prompt& prompt) {
  std::size_t longest = 0;
  for (const std::vector<text::Token>& line : prompt.tokens) longest = std::max(longest, line.size());
  const std::size_t most = std::min(kTimesLonger * longest + kMoreTokens, kMaxTokens);
  const std::uint32_t positions = inference::position_limit(model, model.network->target_embedding.get());
  return positions == 0 ? most : std::min<std::size_t>(most, positions);
}

}  // namespace

bool translates_itself(const Model& choice) {
  return choice.translates && choice.target_text.empty() && choice.target_ids.empty();
}

bool translates_itself(const Model& choice, const inference::LanguageModel& model) {
  return translates_itself(choice) && model.description.is_encoder_decoder && inference::can_write(model.description) &&
         model.description.has_logits && model.predicted_tokenizer() != nullptr;
}

Translation::Translation(const inference::LanguageModel& model, const inference::Prompt& prompt)
    : tokenizer_(model.predicted_tokenizer()),
      ends_(inference::end_tokens(model)),
      suppressed_(inference::suppressed_tokens(model)),
      most_ids_(longest_target(model, prompt)) {
  for (const std::vector<text::Token>& start : prompt.target_tokens) {
    Line& line = lines_.emplace_back();
    for (const text::Token& token : start) line.ids.push_back(token.id);
    line.bytes.resize(line.ids.size());
  }
}

bool Translation::is_running() const {
  return std::ranges::any_of(lines_, [](const Line& line) { return !line.has_ended && !line.was_cut; });
}

std::vector<inference::StateRef> Translation::states(const model::TokenBatch& target, std::uint32_t layers) const {
  std::vector<inference::StateRef> states;
  for (std::uint32_t item = 0; item < lines_.size(); ++item) {
    if (lines_[item].has_ended || lines_[item].was_cut) continue;
    const auto last = static_cast<std::uint32_t>(lines_[item].ids.size()) - 1;
    states.push_back({.batch = item, .token = target.start(item) + last, .layer = layers});
  }
  return states;
}

bool Translation::take(const Tensor& logits) {
  const std::size_t vocabulary = logits.shape.back();
  std::size_t row = 0;
  bool has_grown = false;
  for (Line& line : lines_) {
    if (line.has_ended || line.was_cut) continue;
    std::vector<float> scores(logits.values.begin() + static_cast<std::ptrdiff_t>(row * vocabulary),
                              logits.values.begin() + static_cast<std::ptrdiff_t>((row + 1) * vocabulary));
    ++row;
    for (const std::uint32_t id : suppressed_) {
      if (id < scores.size()) scores[id] = -std::numeric_limits<float>::infinity();
    }
    const auto best = static_cast<std::uint32_t>(std::ranges::max_element(scores) - scores.begin());
    line.has_ended = std::ranges::find(ends_, best) != ends_.end();
    if (line.has_ended) continue;
    line.was_cut = line.ids.size() >= most_ids_;
    if (line.was_cut) continue;
    append(line, best);
    has_grown = true;
  }
  return has_grown;
}

void Translation::append(Line& line, std::uint32_t id) const {
  line.ids.push_back(id);
  std::string text = tokenizer_->decode(std::span(line.ids).subspan(1));
  if (text.starts_with(' ')) text.erase(0, 1);
  const auto end = static_cast<std::uint32_t>(text.size());
  const auto begin = std::min(static_cast<std::uint32_t>(line.text.size()), end);
  line.bytes.push_back({.begin = begin, .end = end});
  line.text = std::move(text);
}

inference::Prompt Translation::prompt(const inference::LanguageModel& model, inference::PromptText text) const {
  text.target_lines.clear();
  text.target_ids.clear();
  for (const Line& line : lines_) text.target_ids.push_back(line.ids);
  inference::Prompt prompt = inference::make_prompt(model, text);
  for (std::size_t item = 0; item < lines_.size(); ++item) {
    std::vector<text::Token>& tokens = prompt.target_tokens[item];
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      tokens[i].bytes = lines_[item].bytes[i];
      tokens[i].is_special = tokens[i].bytes.is_empty();
    }
  }
  return prompt;
}

Translated Translation::written() const {
  Translated written{.lines = {}, .is_done = !is_running()};
  for (const Line& line : lines_) {
    written.lines.push_back(line.text);
    written.was_cut = written.was_cut || line.was_cut;
  }
  return written;
}

std::string target_text(const State& state, std::span<const std::string> lines) {
  std::string text;
  const std::vector<LineRange> items = item_lines(state.text(), state.model().joins_lines);
  const bool has_own_lines = state.model().ids.empty() && items.size() == lines.size();
  for (std::size_t i = 0, begin = 0; i < lines.size(); ++i) {
    const std::size_t until = has_own_lines ? items[i].begin : begin;
    if (lines.size() > 1 && has_own_lines) {
      const auto breaks = std::count(state.text().begin() + static_cast<std::ptrdiff_t>(begin),
                                     state.text().begin() + static_cast<std::ptrdiff_t>(until), '\n');
      text.append(static_cast<std::size_t>(breaks), '\n');
    } else if (i > 0) {
      text += '\n';
    }
    text += lines[i];
    begin = has_own_lines ? items[i].end : begin;
  }
  return text;
}

RunInputs inputs_on_screen(const State& state, const EngineResult& result) {
  RunInputs inputs = run_inputs(state);
  const bool is_its_own = result.translated && result.inputs && *result.inputs == inputs;
  if (!is_its_own) return inputs;
  for (std::uint32_t item = 0; item < result.prompt->target_tokens.size(); ++item) {
    std::get<Model>(inputs.source).target_ids.push_back(predicted_ids(result, item));
  }
  return inputs;
}

void take_over_translation(State& state, const Translated* written) {
  if (!translates_itself(state.model()) || written == nullptr) return;
  state.model().translates = false;
  state.model().target_text = target_text(state, written->lines);
}

}  // namespace headlight::app
