#include "inference/word_batch.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/error.h"
#include "inference/playground.h"
#include "text/word_level.h"

namespace headlight::inference {
namespace {

std::string count_lines(std::size_t count) { return fmt::format("{} line{}", count, count == 1 ? "" : "s"); }

/// Refuses a text that is too long before anything is built from it.
void check_size(std::string_view text, std::string_view when_empty) {
  std::size_t lines = 0;
  std::size_t longest = 0;
  std::size_t number = 0;
  for (const std::size_t words : text::count_words_per_line(text)) {
    ++number;
    if (words > kMaxTokens) {
      throw Error("line {} has {} tokens, but at most {} fit: shorten it or break it into several lines", number, words,
                  kMaxTokens);
    }
    if (words > 0) ++lines;
    longest = std::max(longest, words);
  }
  if (lines == 0) throw Error("{}", when_empty);
  if (lines * longest > kMaxBatchTokens) {
    throw Error("{} padded to {} tokens make {} tokens, but at most {} fit: shorten the text", count_lines(lines), longest,
                lines * longest, kMaxBatchTokens);
  }
}

model::TokenBatch pad(const std::vector<std::vector<text::Token>>& lines) {
  model::TokenBatch batch;
  batch.batch = static_cast<std::uint32_t>(lines.size());
  for (const std::vector<text::Token>& line : lines) {
    batch.lengths.push_back(static_cast<std::uint32_t>(line.size()));
    batch.length = std::max(batch.length, batch.lengths.back());
  }
  for (const std::vector<text::Token>& line : lines) {
    std::vector<std::string>& labels = batch.texts.emplace_back();
    for (const text::Token& token : line) {
      batch.ids.push_back(token.id);
      labels.push_back(token.text);
    }
    batch.ids.insert(batch.ids.end(), batch.length - line.size(), model::kPaddingId);
    labels.resize(batch.length, "<pad>");
  }
  return batch;
}

}  // namespace

WordBatch batch_words(std::string_view text, std::string_view key_text) {
  std::vector<std::string_view> texts = {text};
  if (!key_text.empty()) texts.push_back(key_text);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (find_invalid_utf8(texts[i]) != std::string_view::npos) continue;  // the tokenizer says where
    check_size(texts[i], i == 0 ? "there is no word in the text: type at least one"
                                : "there is no word in the second text: type at least one or clear it");
  }
  Result<std::vector<text::WordTokens>> tokenized = text::tokenize_words(texts);
  if (!tokenized) throw Error("{}", tokenized.error());
  std::vector<text::WordTokens> sides = std::move(tokenized).value();

  WordBatch batch{.text = pad(sides[0].lines), .key_text = std::nullopt, .vocabulary = sides[0].vocabulary};
  if (sides.size() == 2) {
    std::vector<std::vector<text::Token>>& keys = sides[1].lines;
    if (keys.size() == 1) keys.resize(sides[0].lines.size(), std::vector<text::Token>(keys.front()));
    if (keys.size() != sides[0].lines.size()) {
      throw Error("{} of text attend{} to {} of keys: give both texts the same number of lines",
                  count_lines(sides[0].lines.size()), sides[0].lines.size() == 1 ? "s" : "", count_lines(keys.size()));
    }
    batch.key_text = pad(keys);
  }
  return batch;
}

}  // namespace headlight::inference
