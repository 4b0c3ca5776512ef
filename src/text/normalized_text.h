#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"
#include "text/unicode.h"

namespace headlight::text {

/// One character of a text's next form and what it does to the old one: 0 takes the place of one character, −n takes the
/// place of n + 1, 1 is inserted behind the one before.
struct Change {
  char32_t code_point = 0;
  int change = 0;
};

/// A text while it is being normalized and cut, which knows for each of its bytes the bytes of the typed text behind it.
/// The rules by which inserted and merged characters inherit their place are those of the `tokenizers` package, because
/// offsets must be equal to its.
class NormalizedText {
 public:
  explicit NormalizedText(std::string_view valid_utf8);

  const std::string& text() const { return text_; }
  bool is_empty() const { return text_.empty(); }
  /// The most bytes that this text and everything it is cut into may become: what a tokenizer's file asks for must not take
  /// memory without end. Functions that let the text grow throw Error beyond it.
  std::size_t limit() const { return limit_; }
  /// Throws Error when a text of `bytes` is beyond the limit.
  void expect_within_limit(std::size_t bytes) const;
  /// Where this piece begins in the typed text.
  std::uint32_t original_begin() const { return begin_; }
  /// The typed bytes behind bytes [begin, end) of text().
  ByteRange original(ByteRange range) const;

  /// Bytes [begin, end) of text(), with their places.
  NormalizedText slice(std::size_t begin, std::size_t end) const;

  /// Replaces the whole text. The first `removed` characters vanish before the changes begin.
  void transform(std::span<const Change> changes, std::size_t removed = 0);
  /// Nothing when the text is empty.
  void prepend(std::string_view prefix);
  /// Replaces each match, in order and without overlaps; `content` takes the place of a match's last character.
  void replace(std::span<const ByteRange> matches, std::string_view content);

  /// Drops the characters for which `keep` is false.
  template <typename Keep>
  void filter(Keep keep);
  /// Replaces each character by one.
  template <typename Map>
  void map(Map map);

 private:
  NormalizedText() = default;
  void transform_range(std::size_t begin, std::size_t end, std::span<const Change> changes, std::size_t removed);
  ByteRange place_before(std::size_t at) const;

  std::string text_;
  std::vector<ByteRange> places_;  ///< [byte of text_]
  std::uint32_t begin_ = 0;
  std::size_t limit_ = 0;
};

template <typename Keep>
void NormalizedText::filter(Keep keep) {
  std::vector<Change> changes;
  changes.reserve(text_.size());
  std::size_t removed_first = 0;
  bool drops = false;
  for (std::size_t at = 0; at < text_.size();) {
    const char32_t c = next_code_point(text_, at);
    if (keep(c)) {
      changes.push_back({c, 0});
      continue;
    }
    drops = true;
    if (changes.empty()) {
      ++removed_first;
    } else {
      --changes.back().change;
    }
  }
  if (drops) transform(changes, removed_first);
}

template <typename Map>
void NormalizedText::map(Map map) {
  std::vector<Change> changes;
  changes.reserve(text_.size());
  bool differs = false;
  for (std::size_t at = 0; at < text_.size();) {
    const char32_t c = next_code_point(text_, at);
    changes.push_back({map(c), 0});
    differs = differs || changes.back().code_point != c;
  }
  if (differs) transform(changes);
}

}  // namespace headlight::text
