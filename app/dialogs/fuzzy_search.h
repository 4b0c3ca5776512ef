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

/// Which letters of an entry a query matched, in ascending order.
struct SearchMarks {
  std::vector<ByteRange> title, detail;
};

/// Finds entries by some of their letters, in either case: a query matches where its letters are in the text in this order,
/// and words of the query, between spaces, may also be in any order. Letters at the beginning of a word or number and
/// letters in a row count more, gaps between them less; whole words and numbers more than parts; the title more than the
/// detail.
class FuzzyIndex {
 public:
  /// Replaces all entries. Texts are copied as far as they are searched.
  void assign(std::span<const SearchText> entries);

  std::size_t size() const { return entries_.size(); }

  /// The best `most` entries: by score, then the shorter title, then the order of assign(). An empty query, or one of
  /// spaces, matches everything with score 0.
  std::vector<SearchHit> search(std::string_view query, std::size_t most) const;

  /// What search() found in this entry; nothing where the query doesn't match it or is empty.
  SearchMarks marks(std::string_view query, std::size_t entry) const;

 private:
  struct Entry {
    std::uint64_t letters = 0;  ///< a bit for each kind of letter that is in it: see letter_bit()
    std::uint32_t begin = 0;    ///< in letters_ and starts_; the title, a space, the detail
    std::uint16_t title = 0, length = 0;
  };
  std::vector<Entry> entries_;
  std::u32string letters_;             ///< lower case, one for each character of the texts
  std::string kinds_;                  ///< likewise: what a letter is beside its neighbours, as bits of fuzzy_search.cpp
  std::vector<std::uint16_t> widths_;  ///< bytes of each character in its text
};

}  // namespace headlight::app
