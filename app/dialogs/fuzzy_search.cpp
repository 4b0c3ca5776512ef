#include "app/dialogs/fuzzy_search.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "text/unicode.h"

namespace headlight::app {
namespace {

constexpr std::size_t kMaxLetters = 192;  // of an entry
constexpr std::size_t kMaxQuery = 48;     // letters; what is typed after them is ignored

// What is worth what. A word's beginning is worth more than a letter in a row, so that initials find commands ("rmh":
// "Reset masks and heads"), and a whole number more than its first digit, so that "layer 1" prefers layer 1 to layer 11.
constexpr int kLetter = 16;
constexpr int kWordStart = 10;
constexpr int kTextStart = 4;              // besides
constexpr int kInRow = 9;                  // directly after the letter before
constexpr int kWordEnd = 5;                // the query's word ends where the text's does
constexpr int kGapPenalty = -3;            // letters left out between two that match …
constexpr int kGapLetter = -1;             // … and each of them
constexpr std::size_t kLongestStart = 12;  // letters before the first one that matches, as far as they are counted
constexpr int kWholeText = 40;
constexpr int kInDetail = -8;
constexpr int kInBoth = -12;
constexpr int kOutOfOrder = -24;
constexpr int kNone = std::numeric_limits<int>::min() / 2;

constexpr char kStarts = 1, kEnds = 2;  // a word or a number does, at this letter

enum class Class : std::uint8_t { Space, Lower, Upper, Digit };

Class class_of(char32_t c, char32_t lower) {
  if (c >= U'0' && c <= U'9') return Class::Digit;
  if (c < 0x80 && !(lower >= U'a' && lower <= U'z')) return Class::Space;
  if (c >= 0x80 && (text::is_white_space(c) || text::is_punctuation(c))) return Class::Space;
  return c == lower ? Class::Lower : Class::Upper;
}

/// Does a word or number end between two neighbours? "openModel" has two words, "L12H3" four parts.
bool is_border(Class before, Class after) {
  if (before == Class::Space || after == Class::Space) return true;
  if ((before == Class::Digit) != (after == Class::Digit)) return true;
  return before == Class::Lower && after == Class::Upper;
}

/// Entries without all of a query's bits are passed over without a look at their letters.
std::uint64_t letter_bit(char32_t c) {
  if (c >= U'a' && c <= U'z') return std::uint64_t{1} << (c - U'a');
  if (c >= U'0' && c <= U'9') return std::uint64_t{1} << (26 + c - U'0');
  return std::uint64_t{1} << (36 + c % 28);
}

struct Letters {
  std::u32string folded;
  std::string kinds;
  std::vector<std::uint16_t> widths;
};

/// The first character of its lower case; İ and a few others have more.
char32_t to_lower(char32_t c, std::u32string& memory) {
  if (c < 0x80) return c >= U'A' && c <= U'Z' ? c + (U'a' - U'A') : c;
  memory.clear();
  text::append_lower_case(memory, c);
  return memory.empty() ? c : memory.front();
}

/// At most `most` characters. Bytes that aren't UTF-8 are some letter or other.
void append_letters(Letters& out, std::string_view utf8, std::size_t most) {
  std::u32string memory;
  Class before = Class::Space;
  for (std::size_t at = 0; at < utf8.size() && most > 0; --most) {
    const std::size_t from = at;
    const char32_t c = text::next_code_point(utf8, at);
    const char32_t lower = to_lower(c, memory);
    const Class here = class_of(c, lower);
    const bool has_border = is_border(before, here);
    if (has_border && !out.kinds.empty()) out.kinds.back() |= kEnds;
    out.folded.push_back(lower);
    out.kinds.push_back(has_border && here != Class::Space ? kStarts : 0);
    out.widths.push_back(static_cast<std::uint16_t>(at - from));
    before = here;
  }
  if (!out.kinds.empty()) out.kinds.back() |= kEnds;
}

/// Letters that are searched for in a row, from a part of the query or the whole of it without its spaces.
struct Pattern {
  std::u32string letters;
  std::string kinds;
};

struct SearchQuery {
  Pattern whole;
  std::vector<Pattern> words;
  std::uint64_t bits = 0;
};

SearchQuery read_query(std::string_view utf8) {
  Letters read;
  append_letters(read, utf8, kMaxQuery);
  SearchQuery query;
  bool is_inside = false;
  for (std::size_t i = 0; i < read.folded.size(); ++i) {
    const char32_t c = read.folded[i];
    if (text::is_white_space(c)) {
      is_inside = false;
      continue;
    }
    // A number belongs to the word before it: "head 4 layer 1" is not layer 4, head 1.
    const bool is_number = c >= U'0' && c <= U'9';
    if (!std::exchange(is_inside, true) && (query.words.empty() || !is_number)) query.words.emplace_back();
    for (Pattern* pattern : {&query.whole, &query.words.back()}) {
      pattern->letters.push_back(c);
      pattern->kinds.push_back(read.kinds[i]);
    }
    query.bits |= letter_bit(c);
  }
  return query;
}

/// A piece of an entry.
struct Piece {
  std::u32string_view letters;
  std::string_view kinds;
};

/// The best way to lay a pattern on a piece. Its memory is reused.
class Aligner {
 public:
  /// The score, nothing where the letters aren't there in this order. With `positions`: adds the letters' indices in the
  /// piece.
  std::optional<int> align(const Pattern& pattern, const Piece& piece, std::vector<std::size_t>* positions = nullptr) {
    const std::size_t rows = pattern.letters.size();
    const std::size_t columns = piece.letters.size();
    if (rows == 0 || rows > columns || !find_bounds(pattern, piece)) return std::nullopt;
    for (std::size_t i = 0; i < rows; ++i) fill_row(pattern, piece, i);
    const std::size_t last = rows - 1;
    std::size_t best = first_[last];
    for (std::size_t j = first_[last]; j <= last_[last]; ++j) {
      if (known(last, j) > known(last, best)) best = j;
    }
    if (known(last, best) == kNone) return std::nullopt;
    const int score = known(last, best) + (pattern.letters == piece.letters ? kWholeText : 0);
    if (positions) trace(pattern, piece, best, *positions);
    return score;
  }

 private:
  /// The first and the last position that each letter can have.
  bool find_bounds(const Pattern& pattern, const Piece& piece) {
    std::size_t j = 0;
    for (std::size_t i = 0; i < pattern.letters.size(); ++i, ++j) {
      j = piece.letters.find(pattern.letters[i], j);
      if (j == std::u32string_view::npos) return false;
      first_[i] = j;
    }
    j = piece.letters.size() - 1;
    for (std::size_t i = pattern.letters.size(); i-- > 0;) {
      j = piece.letters.rfind(pattern.letters[i], j);
      last_[i] = j;
      if (i > 0) --j;
    }
    return true;
  }

  int worth(const Pattern& pattern, const Piece& piece, std::size_t row, std::size_t column) const {
    int score = kLetter;
    if ((piece.kinds[column] & kStarts) != 0) score += kWordStart;
    if (column == 0) score += kTextStart;
    if ((piece.kinds[column] & kEnds) != 0 && (pattern.kinds[row] & kEnds) != 0) score += kWordEnd;
    return score;
  }

  /// kNone outside of the positions that the letter can have.
  int known(std::size_t row, std::size_t column) const {
    return column < first_[row] || column > last_[row] ? kNone : scores_[row * kMaxLetters + column];
  }

  void fill_row(const Pattern& pattern, const Piece& piece, std::size_t row) {
    const std::size_t begin = row == 0 ? first_[0] : first_[row - 1] + 1;
    int behind_gap = kNone;  // the best of the row above that ends before the letter left of here, less the gap to here
    for (std::size_t j = begin; j <= last_[row]; ++j) {
      if (row > 0 && j > begin) behind_gap = std::max(behind_gap, known(row - 1, j - 2) + kGapPenalty) + kGapLetter;
      if (j < first_[row]) continue;
      int& score = scores_[row * kMaxLetters + j];
      score = kNone;
      if (piece.letters[j] != pattern.letters[row]) continue;
      const int above = row == 0 ? kGapLetter * static_cast<int>(std::min(j, kLongestStart))
                                 : std::max(known(row - 1, j - 1) + kInRow, behind_gap);
      if (above > kNone / 2) score = above + worth(pattern, piece, row, j);
    }
  }

  /// Goes back from the last letter's position along what fill_row() has chosen.
  void trace(const Pattern& pattern, const Piece& piece, std::size_t column, std::vector<std::size_t>& positions) const {
    positions.push_back(column);
    for (std::size_t row = pattern.letters.size() - 1; row > 0; --row) {
      const int above = known(row, column) - worth(pattern, piece, row, column);
      std::size_t from = column - 1;
      int gap = kInRow;
      while (from > first_[row - 1] && known(row - 1, from) + gap != above) {
        --from;
        gap = kGapPenalty + kGapLetter * static_cast<int>(column - from - 1);
      }
      column = from;
      positions.push_back(column);
    }
  }

  std::array<std::size_t, kMaxQuery> first_{}, last_{};
  std::array<int, kMaxQuery * kMaxLetters> scores_{};  // [letter of the pattern, letter of the piece]
};

/// One entry's texts: the title, a space, the detail.
struct Texts {
  Piece both;
  std::size_t title = 0;  ///< letters

  Piece part(std::size_t begin, std::size_t count) const {
    return {both.letters.substr(begin, count), both.kinds.substr(begin, count)};
  }
};

/// The best score of the ways in which an entry may match; nothing: none. With `positions`: the letters of the best way.
std::optional<int> score(Aligner& aligner, const SearchQuery& query, const Texts& texts,
                         std::vector<std::size_t>* positions) {
  std::optional<int> best;
  const auto offer = [&](std::optional<int> score, int handicap, std::size_t offset, std::vector<std::size_t>& found) {
    if (!score || (best && *score + handicap <= *best)) return;
    best = *score + handicap;
    if (!positions) return;
    for (std::size_t& position : found) position += offset;
    *positions = std::move(found);
  };
  const auto try_whole = [&](const Piece& piece, int handicap, std::size_t offset) {
    std::vector<std::size_t> found;
    offer(aligner.align(query.whole, piece, positions ? &found : nullptr), handicap, offset, found);
  };
  const std::size_t behind = std::min(texts.title + 1, texts.both.letters.size());
  try_whole(texts.part(0, texts.title), 0, 0);
  const bool is_in_title = best.has_value();
  try_whole(texts.part(behind, std::u32string_view::npos), kInDetail, behind);
  // One word is in one text; letters from both would find too much.
  if (!best && query.words.size() > 1) try_whole(texts.both, kInBoth, 0);
  if (is_in_title || query.words.size() < 2) return best;
  int sum = 0;
  std::vector<std::size_t> found;
  for (const Pattern& word : query.words) {
    const std::optional<int> one = aligner.align(word, texts.both, positions ? &found : nullptr);
    if (!one) return best;
    sum += *one;
  }
  offer(sum, kOutOfOrder, 0, found);
  return best;
}

/// Its arrays are 37 KB, which every search needs again.
Aligner& shared_aligner() {
  thread_local Aligner aligner;
  return aligner;
}

}  // namespace

void FuzzyIndex::assign(std::span<const SearchText> entries) {
  entries_.clear();
  Letters letters;
  for (const SearchText& text : entries) {
    Entry& entry = entries_.emplace_back();
    entry.begin = static_cast<std::uint32_t>(letters.folded.size());
    const auto length = [&] { return letters.folded.size() - entry.begin; };
    append_letters(letters, text.title, kMaxLetters);
    entry.title = static_cast<std::uint16_t>(length());
    append_letters(letters, " ", kMaxLetters - length());
    append_letters(letters, text.detail, kMaxLetters - length());
    entry.length = static_cast<std::uint16_t>(length());
    for (std::size_t i = entry.begin; i < letters.folded.size(); ++i) entry.letters |= letter_bit(letters.folded[i]);
  }
  letters_ = std::move(letters.folded);
  kinds_ = std::move(letters.kinds);
  widths_ = std::move(letters.widths);
}

std::vector<SearchHit> FuzzyIndex::search(std::string_view utf8, std::size_t most) const {
  const SearchQuery query = read_query(utf8);
  std::vector<SearchHit> hits;
  if (query.words.empty()) {
    for (std::size_t i = 0; i < std::min(most, entries_.size()); ++i) hits.push_back({.entry = i, .score = 0});
    return hits;
  }
  Aligner& aligner = shared_aligner();
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    if ((query.bits & ~entry.letters) != 0) continue;
    const Texts texts{.both = {std::u32string_view(letters_).substr(entry.begin, entry.length),
                               std::string_view(kinds_).substr(entry.begin, entry.length)},
                      .title = entry.title};
    if (const std::optional<int> found = score(aligner, query, texts, nullptr))
      hits.push_back({.entry = i, .score = *found});
  }
  const auto is_better = [&](const SearchHit& a, const SearchHit& b) {
    if (a.score != b.score) return a.score > b.score;
    const std::uint16_t a_title = entries_[a.entry].title;
    const std::uint16_t b_title = entries_[b.entry].title;
    return a_title != b_title ? a_title < b_title : a.entry < b.entry;
  };
  const std::size_t shown = std::min(most, hits.size());
  std::ranges::partial_sort(hits, hits.begin() + static_cast<std::ptrdiff_t>(shown), is_better);
  hits.resize(shown);
  return hits;
}

SearchMarks FuzzyIndex::marks(std::string_view utf8, std::size_t index) const {
  SearchMarks marks;
  const SearchQuery query = read_query(utf8);
  if (query.words.empty() || index >= entries_.size()) return marks;
  const Entry& entry = entries_[index];
  const Texts texts{.both = {std::u32string_view(letters_).substr(entry.begin, entry.length),
                             std::string_view(kinds_).substr(entry.begin, entry.length)},
                    .title = entry.title};
  std::vector<std::size_t> positions;
  if (!score(shared_aligner(), query, texts, &positions)) return marks;
  std::ranges::sort(positions);
  std::size_t byte = 0;  // of the title, then of the detail
  auto position = positions.begin();
  for (std::size_t i = 0; i < entry.length; ++i) {
    const std::size_t width = widths_[entry.begin + i];
    if (i == entry.title) {
      byte = 0;
      continue;  // the space between them
    }
    while (position != positions.end() && *position < i) ++position;
    if (position != positions.end() && *position == i) {
      std::vector<ByteRange>& ranges = i < entry.title ? marks.title : marks.detail;
      if (!ranges.empty() && ranges.back().end == byte) {
        ranges.back().end = byte + width;
      } else {
        ranges.push_back({.begin = byte, .end = byte + width});
      }
    }
    byte += width;
  }
  return marks;
}

}  // namespace headlight::app
