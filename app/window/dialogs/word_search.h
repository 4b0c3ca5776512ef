#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::app {

/// Two texts of one entry, UTF-8: what it is called, and what else finds it. Only the first 192 characters of both together
/// are searched.
struct SearchText {
  std::string_view title, detail;
};

/// An entry that was found. Higher scores come first.
struct SearchHit {
  std::size_t entry = 0;
  int score = 0;
};

/// Bytes [begin, end) of a text that the query matched.
struct ByteRange {
  std::size_t begin = 0, end = 0;
  bool operator==(const ByteRange&) const = default;
};

/// The letters of an entry that a query matched, in ascending order.
struct SearchMarks {
  std::vector<ByteRange> title, detail;
};

/// An entry as it is searched.
struct IndexedText {
  std::u32string_view letters;  ///< lower case
  std::string_view kinds;       ///< what each is beside its neighbours, as bits of word_search.cpp
  std::size_t title = 0;        ///< its letters; a space and the detail follow
};

/// Finds entries by the beginnings of their words, in either case and any order: "layer 1" and "l1h4" find "Layer 1 · head
/// 4", "L1H4". Whole words and numbers count more than beginnings, the title more than the detail, words in the order of the
/// text more than others.
class WordIndex {
 public:
  /// Replaces all entries. Texts are copied as far as they are searched.
  void assign(std::span<const SearchText> entries);

  std::size_t size() const { return entries_.size(); }

  /// Returns the best `most` entries: by score, then the shorter title, then the order of assign(). A query without a letter
  /// or digit matches everything with score 0.
  std::vector<SearchHit> search(std::string_view query, std::size_t most) const;

  /// Returns what search() matched in this entry; nothing where the query doesn't match it or is empty.
  SearchMarks marks(std::string_view query, std::size_t entry) const;

 private:
  struct Entry {
    std::size_t begin = 0;  ///< in letters_; the title, a space, the detail
    std::size_t title = 0, length = 0;
  };
  IndexedText text(std::size_t entry) const;

  std::vector<Entry> entries_;
  std::u32string letters_;  ///< of all entries, one for each character of the texts
  std::string kinds_;
  std::vector<std::uint16_t> widths_;  ///< bytes of each character in its text
};

}  // namespace headlight::app
