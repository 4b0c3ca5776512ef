#include <algorithm>
#include <random>
#include <set>

#include "app/data/prompts/prompt_set.h"
#include "core/error.h"

namespace headlight::app {
namespace {

constexpr std::uint32_t kTriesPerPrompt = 16, kTriesInARow = 256;  // a draw that repeats a prompt is drawn again

/// Draws a value for every placeholder.
std::map<std::string, std::string> draw_values(const PromptTemplate& one, std::mt19937_64& random) {
  std::map<std::string, std::string> drawn;
  std::set<std::string> used;
  for (const TemplateList& list : one.lists) {
    const auto is_used = [&](const std::string& value) { return used.contains(value); };
    std::vector<std::size_t> left;
    for (std::size_t at = 0; at < list.values.size(); ++at)
      if (std::ranges::none_of(list.values[at], is_used)) left.push_back(at);
    if (left.empty()) throw Error("lists: {{{}}} has no value left that isn't in the prompt already", list.names.front());
    const std::vector<std::string>& values = list.values[left[random() % left.size()]];
    used.insert(values.begin(), values.end());
    for (std::size_t column = 0; column < list.names.size(); ++column) drawn[list.names[column]] = values[column];
  }
  return drawn;
}

/// Puts values into the place of {placeholders}, one brace into that of two; `positions`: receives where they are, or null.
std::string filled(const std::string& text, const std::map<std::string, std::string>& values,
                   std::vector<NamedSpan>* positions) {
  std::string result;
  std::map<std::string, int> counts;
  std::size_t at = 0;
  for (std::size_t open = text.find_first_of("{}"); open != std::string::npos; open = text.find_first_of("{}", at)) {
    const bool is_double = open + 1 < text.size() && text[open + 1] == text[open];
    if (is_double || text[open] == '}') {  // itself
      result.append(text, at, open + 1 - at);
      at = open + (is_double ? 2 : 1);
      continue;
    }
    const std::size_t close = text.find('}', open);
    if (close == std::string::npos) throw Error("a brace isn't closed: {}", text.substr(open, 40));
    const std::string name = text.substr(open + 1, close - open - 1);
    const auto value = values.find(name);
    if (value == values.end()) throw Error("{{{}}} has no list in lists", name);
    result.append(text, at, open - at);
    const int count = ++counts[name];
    if (positions != nullptr && positions->size() < kMaxPromptPositions) {
      const std::string called = count > 1 ? name + std::to_string(count) : name;
      if (std::ranges::find(*positions, called, &NamedSpan::name) != positions->end())
        throw Error("two positions are called \u201C{}\u201D: rename the list {{{}}}", called, called);
      positions->push_back({.name = called, .begin = result.size(), .end = result.size() + value->second.size()});
    }
    result += value->second;
    if (result.size() > kMaxPromptBytes) throw Error("a text becomes longer than {} bytes", kMaxPromptBytes);
    at = close + 1;
  }
  return result.append(text, at);
}

}  // namespace

std::vector<SetPrompt> expand(const PromptTemplate& one, const std::function<void()>& checkpoint) {
  std::mt19937_64 random(one.seed);
  std::vector<SetPrompt> prompts;
  std::set<std::string> known;
  std::uint32_t repeats = 0;
  for (std::uint32_t tries = 0; prompts.size() < one.count && tries < one.count * kTriesPerPrompt; ++tries) {
    if (repeats == kTriesInARow) break;
    if (checkpoint) checkpoint();
    const std::map<std::string, std::string> values = draw_values(one, random);
    SetPrompt prompt;
    prompt.text = filled(one.parts.text, values, &prompt.positions);
    prompt.corrupted = filled(one.parts.corrupted, values, nullptr);
    prompt.answer = filled(one.parts.answer, values, nullptr);
    prompt.wrong = filled(one.parts.wrong, values, nullptr);
    const bool is_new = known.insert(prompt.text + '\0' + prompt.answer).second;
    repeats = is_new ? 0 : repeats + 1;
    if (is_new) prompts.push_back(std::move(prompt));
  }
  return prompts;
}

}  // namespace headlight::app
