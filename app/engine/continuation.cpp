#include "app/engine/continuation.h"

#include <algorithm>
#include <utility>

#include "app/engine/prompt_lines.h"
#include "text/chat_template.h"

namespace headlight::app {
namespace {

/// Preceding tokens that affect how the next one is written; more make no difference.
constexpr std::size_t kContext = 16;
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

bool has_target(const EngineResult& result) { return result.model && result.model->description.is_encoder_decoder; }

std::vector<std::vector<std::uint32_t>>& ids_side(State& state, const EngineResult& result) {
  return has_target(result) ? state.model().target_ids : state.model().ids;
}

const std::vector<text::Token>& tokens_of(const EngineResult& result, std::uint32_t item) {
  return (has_target(result) ? result.prompt->target_tokens : result.prompt->tokens).at(item);
}

/// A piece of a word ("##ing") joins the word before it. Of special tokens only the mask can be part of a text.
std::string text_in_place(const text::Tokenizer& tokenizer, std::uint32_t id, bool& joins) {
  const std::string_view token_string = tokenizer.token_string(id);
  joins = token_string.starts_with("##");
  if (joins) return std::string(token_string.substr(2));
  if (tokenizer.special().mask == id) return std::string(token_string);
  const std::string text = tokenizer.decode(std::vector{id});
  const std::size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? std::string() : text.substr(first);
}

bool has_line_end(const std::string& text) { return text.find('\n') != std::string::npos; }

/// Replaces the characters of a token.
bool replace_token(State& state, const EngineResult& result, std::uint32_t item, std::size_t index, std::uint32_t id) {
  const text::Token& token = tokens_of(result, item).at(index);
  if (token.bytes.is_empty()) return false;
  std::string& text = has_target(result)    ? state.model().target_text
                      : token.sequence == 1 ? state.model().pair_text
                                            : state.text();
  const std::vector<LineRange> items = item_lines(state.text(), state.model().joins_lines);
  if (item >= items.size()) return false;
  const LineRange line =
      &text == &state.text() ? items[item] : partner_line(state.text(), item, text, state.model().joins_lines);
  std::size_t begin = line.begin + token.bytes.begin;
  const std::size_t end = line.begin + token.bytes.end;
  if (end > line.end) return false;
  bool joins = false;
  const std::string word = text_in_place(*result.model->tokenizer, id, joins);
  if (word.empty() || (has_line_end(word) && !take_line_breaks(state))) return false;
  if (joins && begin > line.begin && text[begin - 1] == ' ') --begin;
  // A token's characters may begin with the space before its word; the new word keeps it.
  const bool has_space = !joins && begin < end && text[begin] == ' ';
  text.replace(begin, end - begin, (has_space ? " " : "") + word);
  return true;
}

}  // namespace

std::string continuation_text(const text::Tokenizer& tokenizer, std::span<const std::uint32_t> before,
                              std::span<const std::uint32_t> ids) {
  const std::size_t context = std::min(before.size(), kContext);
  std::vector<std::uint32_t> all(before.end() - static_cast<std::ptrdiff_t>(context), before.end());
  const std::string base = tokenizer.decode(all);
  all.insert(all.end(), ids.begin(), ids.end());
  const std::string full = tokenizer.decode(all);
  return full.starts_with(base) ? full.substr(base.size()) : tokenizer.decode(ids);
}

bool take_line_breaks(State& state) {
  if (item_lines(state.text(), state.model().joins_lines).size() != 1) return false;
  state.model().joins_lines = true;
  return true;
}

bool ends_inside_character(const std::string& text) { return text.ends_with(kReplacement); }

std::vector<std::uint32_t> predicted_ids(const EngineResult& result, std::uint32_t item) {
  std::vector<std::uint32_t> ids;
  for (const text::Token& token : tokens_of(result, item)) ids.push_back(token.id);
  return ids;
}

void append_to_item(State& state, const EngineResult& result, std::uint32_t item, const std::string& text) {
  const std::vector<LineRange> items = item_lines(state.text(), state.model().joins_lines);
  if (!has_target(result)) {
    if (item >= items.size()) return;
    if (!state.model().is_chat)
      state.text().insert(items[item].end, text);
    else if (take_line_breaks(state))
      state.text() = text::ChatTemplate::with_answer(state.text(), text);
    return;
  }
  std::string& target = state.model().target_text;
  // A line for each of the text's lines, so that the new words belong to this item alone.
  const bool joins_lines = state.model().joins_lines;
  const std::size_t lines = joins_lines ? 1 : line_ranges(state.text()).size();
  const std::string shared = line_ranges(target).size() == 1 ? target : std::string();
  if (lines > 1 && line_ranges(target).size() == 1) {
    for (std::size_t i = 1; i < lines; ++i) target += "\n" + shared;
  }
  while (line_ranges(target).size() < lines) target += '\n';
  std::string words = text;
  const LineRange line = partner_line(state.text(), item, target, joins_lines);
  if (line.begin == line.end) words.erase(0, words.find_first_not_of(' '));
  target.insert(line.end, words);
}

namespace {

/// put_token() where the target, if there is one, is the user's.
bool put(State& state, const EngineResult& result, const PredictionPosition& position, std::uint32_t id) {
  const std::uint32_t index = position.token - position.first;
  const bool is_next = position.kind == PredictionPosition::Kind::Next;
  const bool is_last = position.token + 1 >= position.end;
  std::vector<std::vector<std::uint32_t>>& given = ids_side(state, result);
  if (!given.empty()) {
    std::vector<std::uint32_t>& ids = given.at(std::min<std::size_t>(position.batch, given.size() - 1));
    if (is_next && is_last) ids.push_back(id);
    if (is_next && !is_last) ids.at(index + 1) = id;
    if (!is_next) ids.at(index) = id;
    return true;
  }
  const text::Tokenizer* tokenizer = result.model->predicted_tokenizer();
  if (tokenizer == nullptr) return false;
  if (!is_next) return replace_token(state, result, position.batch, index, id);
  if (!is_last) return replace_token(state, result, position.batch, index + 1, id);
  const std::string text = continuation_text(*tokenizer, predicted_ids(result, position.batch), std::vector{id});
  if (text.empty() || (has_line_end(text) && !take_line_breaks(state)) || ends_inside_character(text)) return false;
  append_to_item(state, result, position.batch, text);
  return true;
}

}  // namespace

bool put_token(State& state, const EngineResult& result, const PredictionPosition& position, std::uint32_t id) {
  if (!result.model || !result.prompt) return false;
  State changed = state;
  take_over_translation(changed, result.translated.get());
  if (!put(changed, result, position, id)) return false;
  state = std::move(changed);
  return true;
}

}  // namespace headlight::app
