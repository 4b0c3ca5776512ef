#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"
#include "text/unicode.h"

namespace headlight::text {

/// One character of the new text and its effect on the old one: 0 replaces one character, −n replaces n + 1, 1 is inserted
/// after the previous one.
struct Change {
  char32_t code_point = 0;
  int change = 0;
};

/// A text while it is being normalized and split; each of its bytes has its byte range in the typed text. Inserted and
/// merged characters inherit their range by the rules of the `tokenizers` package, because offsets must equal the
/// package's.
class NormalizedText {
 public:
  explicit NormalizedText(std::string_view valid_utf8);

  const std::string& text() const { return text_; }
  bool is_empty() const { return text_.empty(); }
  /// The most bytes that this text and all its pieces may grow to, so that no tokenizer file can exhaust the memory.
  /// Functions that let the text grow throw Error beyond it.
  std::size_t limit() const { return limit_; }
  /// Throws Error when a text of `bytes` is beyond the limit.
  void expect_within_limit(std::size_t bytes) const;
  /// The byte of the typed text at which this piece begins.
  std::uint32_t original_begin() const { return begin_; }
  /// The range in the typed text of bytes [begin, end) of text().
  ByteRange original(ByteRange range) const;

  /// Bytes [begin, end) of text(), with their ranges.
  NormalizedText slice(std::size_t begin, std::size_t end) const;

  /// Replaces the whole text. The first `removed` characters are dropped before the changes apply.
  void transform(std::span<const Change> changes, std::size_t removed = 0);
  /// Does nothing when the text is empty.
  void prepend(std::string_view prefix);
  /// Replaces each match, in order and without overlaps; `content` takes the range of a match's last character.
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
  ByteRange range_before(std::size_t at) const;

  std::string text_;
  std::vector<ByteRange> ranges_;  ///< [byte of text_]
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
