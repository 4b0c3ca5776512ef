#include "app/engine/token_words.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <string>
#include <utility>

#include "text/label.h"

namespace headlight::app {
namespace {

constexpr std::string_view kSpace = "·";

}  // namespace

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

std::vector<std::string> telling_names(const model::TokenBatch& tokens, std::uint32_t item) {
  std::vector<std::string> names;
  std::map<std::string, std::size_t> counts;
  for (std::uint32_t token = 0; token < tokens.length; ++token) ++counts[names.emplace_back(tokens.name(item, token))];
  for (std::uint32_t token = 0; token < tokens.length; ++token) {
    std::string& name = names[token];
    const bool is_repeated = counts[name] > 1;
    const std::string_view word = name.starts_with(kSpace) ? std::string_view(name).substr(kSpace.size()) : name;
    const auto is_of_word = [](char letter) {
      return std::isalnum(static_cast<unsigned char>(letter)) != 0 || static_cast<unsigned char>(letter) >= 0x80;
    };
    if (std::ranges::none_of(word, is_of_word)) name = "\u201C" + name + "\u201D";
    if (is_repeated) name += " (" + std::to_string(token) + ")";
  }
  return names;
}

namespace {

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
