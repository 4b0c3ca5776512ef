#include "app/engine/token_words.h"

#include <algorithm>
#include <utility>

#include "text/label.h"

namespace headlight::app {

bool rows_write_tokens(const model::ModelInput& input, model::BlockKind kind) {
  return input.target && &input.queries(kind) == &*input.target;
}

std::vector<std::string> written_texts(const model::TokenBatch& target, std::uint32_t batch) {
  std::vector<std::string> texts = target.texts.at(batch);
  const std::size_t first = target.start(batch);
  const std::size_t end = std::min<std::size_t>(first + target.lengths.at(batch), texts.size());
  if (first >= end) return texts;
  for (std::size_t row = first; row + 1 < end; ++row) texts[row] = target.texts[batch][row + 1];
  texts[end - 1] = "\u2026";
  return texts;
}

namespace {

constexpr std::string_view kSpace = "·";
constexpr std::string_view kContinues = "##";

/// A space that is a token of its own, as tokenizers of byte letters, of word marks and of plain text spell it.
bool is_space(const text::Token& token) { return token.text == "Ġ" || token.text == "▁" || token.text == " "; }

/// Does a token go on where the one before it ends, without a space between? Parts of one character have the same bytes.
bool goes_on(const text::Token& before, const text::Token& token) {
  if (before.source != token.source) return false;
  if (is_space(before) && !token.is_special) return true;  // which a tokenizer may leave out of its range
  const bool are_both_typed = !before.bytes.is_empty() && !token.bytes.is_empty();
  return are_both_typed && token.bytes.begin >= before.bytes.begin && token.bytes.begin <= before.bytes.end;
}

}  // namespace

std::vector<TokenPlace> token_places(std::span<const std::string> labels, std::span<const text::Token> tokens,
                                     std::uint32_t start) {
  std::vector<TokenPlace> places;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    std::string_view label = labels[i];
    const bool is_real = i >= start && i - start < tokens.size();
    const bool has_before = is_real && i > start;
    TokenPlace place;
    place.is_special = is_real && tokens[i - start].is_special;
    place.is_space = is_real && is_space(tokens[i - start]);
    place.begins_word = !has_before || !goes_on(tokens[i - start - 1], tokens[i - start]);
    if (label.starts_with(kSpace)) {
      label.remove_prefix(kSpace.size());
      place.begins_word = true;
    } else if (has_before && !place.is_special && label.starts_with(kContinues) && label.size() > kContinues.size()) {
      label.remove_prefix(kContinues.size());
      place.begins_word = false;
    }
    place.text = label.empty() ? std::string(kSpace) : std::string(label);
    places.push_back(std::move(place));
  }
  return places;
}

std::string word_text(std::span<const TokenPlace> tokens) {
  if (tokens.size() == 1) return tokens.front().text;
  std::string word;
  for (const TokenPlace& token : tokens) {
    if (!token.is_space) word += text::without_parts(token.text);
  }
  return word.empty() ? std::string(kSpace) : word;
}

}  // namespace headlight::app
