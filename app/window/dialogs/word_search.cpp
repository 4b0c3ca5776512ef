#include "app/window/dialogs/word_search.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "text/unicode.h"

namespace headlight::app {
namespace {

constexpr std::size_t kMaxLetters = 192;  // of an entry
constexpr std::size_t kMaxQuery = 48;     // letters; what is typed after them is ignored

// Scores of a match. A whole number is worth more than its first digit, so that "layer 1" prefers layer 1 to layer 11.
constexpr int kWord = 16;
constexpr int kWhole = 12;  // the query's word ends where the text's does
constexpr int kInTitle = 8;
constexpr int kTextStart = 4;
constexpr int kInOrder = 3;  // after the query's word before
constexpr int kAllOfTitle = 20;

constexpr char kBegins = 1, kWordEnds = 2, kBetween = 4;  // a word or a number does at this character; it is neither

enum class Class : std::uint8_t { Space, Lower, Upper, Digit };

Class class_of(char32_t c, char32_t lower) {
  if (c >= U'0' && c <= U'9') return Class::Digit;
  if (c < 0x80 && !(lower >= U'a' && lower <= U'z')) return Class::Space;
  if (c >= 0x80 && (text::is_white_space(c) || text::is_punctuation(c))) return Class::Space;
  return c == lower ? Class::Lower : Class::Upper;
}

/// Scripts that put no spaces between words: each character begins one.
bool is_ideographic(char32_t c) { return c >= 0x2E80; }

/// Does a word or number end between two neighbours? "openModel" has two words, "L12H3" four parts.
bool is_border(Class before, Class after) {
  if (before == Class::Space || after == Class::Space) return true;
  if ((before == Class::Digit) != (after == Class::Digit)) return true;
  return before == Class::Lower && after == Class::Upper;
}

struct Letters {
  std::u32string folded;
  std::string kinds;
  std::vector<std::uint16_t> widths;
};

/// Returns the first character of its lower case; İ and a few others have more.
char32_t to_lower(char32_t c, std::u32string& memory) {
  if (c < 0x80) return c >= U'A' && c <= U'Z' ? c + (U'a' - U'A') : c;
  memory.clear();
  text::append_lower_case(memory, c);
  return memory.empty() ? c : memory.front();
}

/// Appends at most `most` characters. Bytes that aren't UTF-8 become arbitrary letters.
void append_letters(Letters& out, std::string_view utf8, std::size_t most) {
  std::u32string memory;
  Class before = Class::Space;
  for (std::size_t at = 0; at < utf8.size() && most > 0; --most) {
    const std::size_t from = at;
    const char32_t c = text::next_code_point(utf8, at);
    const char32_t lower = to_lower(c, memory);
    const Class here = class_of(c, lower);
    const bool has_border = is_border(before, here) || is_ideographic(c);
    if (has_border && !out.kinds.empty()) out.kinds.back() |= kWordEnds;
    out.folded.push_back(lower);
    out.kinds.push_back(here == Class::Space ? kBetween : has_border ? kBegins : 0);
    out.widths.push_back(static_cast<std::uint16_t>(at - from));
    before = here;
  }
  if (!out.kinds.empty()) out.kinds.back() |= kWordEnds;
}

/// Returns the words of a query, without what is between them; a number belongs to the word before it: "head 4 layer 1" is
/// not layer 4, head 1.
std::vector<std::u32string> read_query(std::string_view utf8) {
  Letters read;
  append_letters(read, utf8, kMaxQuery);
  std::vector<std::u32string> words;
  bool is_inside = false;
  const auto is_digit = [](char32_t c) { return c >= U'0' && c <= U'9'; };
  for (std::size_t i = 0; i < read.folded.size(); ++i) {
    if ((read.kinds[i] & kBetween) != 0) {
      is_inside = false;
      continue;
    }
    const char32_t c = read.folded[i];
    const bool goes_on = !words.empty() && is_digit(c) && !is_digit(words.back().front());
    if (!std::exchange(is_inside, true) && !goes_on) words.emplace_back();
    words.back().push_back(c);
  }
  return words;
}

/// Returns the end of the word that begins at `at`, gaps of the text passed over; nothing: it isn't there.
std::optional<std::size_t> end_of_word(const std::u32string& word, const IndexedText& text, std::size_t at) {
  if ((text.kinds[at] & kBegins) == 0) return std::nullopt;
  for (std::size_t i = 0; i < word.size(); ++at) {
    if (at == text.letters.size()) return std::nullopt;
    if ((text.kinds[at] & kBetween) != 0) continue;
    if (text.letters[at] != word[i]) return std::nullopt;
    ++i;
  }
  return at;
}

struct Place {
  std::size_t begin = 0, end = 0;
  int score = 0;
};

/// Returns the best place for a word, the first of equally good ones.
std::optional<Place> find_word(const std::u32string& word, const IndexedText& text, std::size_t after) {
  std::optional<Place> best;
  for (std::size_t at = 0; at < text.letters.size(); ++at) {
    const std::optional<std::size_t> end = end_of_word(word, text, at);
    if (!end) continue;
    int score = kWord;
    if ((text.kinds[*end - 1] & kWordEnds) != 0) score += kWhole;
    if (at < text.title) score += kInTitle;
    if (at == 0) score += kTextStart;
    if (at >= after) score += kInOrder;
    if (at == 0 && *end == text.title) score += kAllOfTitle;
    if (!best || score > best->score) best = Place{.begin = at, .end = *end, .score = score};
  }
  return best;
}

/// Returns a place for each word of the query; nothing: one isn't there.
std::optional<std::vector<Place>> find_words(const std::vector<std::u32string>& words, const IndexedText& text) {
  std::vector<Place> places;
  for (const std::u32string& word : words) {
    const std::optional<Place> place = find_word(word, text, places.empty() ? 0 : places.back().end);
    if (!place) return std::nullopt;
    places.push_back(*place);
  }
  return places;
}

}  // namespace

void WordIndex::assign(std::span<const SearchText> entries) {
  entries_.clear();
  Letters letters;
  for (const SearchText& text : entries) {
    Entry& entry = entries_.emplace_back();
    entry.begin = letters.folded.size();
    const auto length = [&] { return letters.folded.size() - entry.begin; };
    append_letters(letters, text.title, kMaxLetters);
    entry.title = length();
    append_letters(letters, " ", kMaxLetters - length());
    append_letters(letters, text.detail, kMaxLetters - length());
    entry.length = length();
  }
  letters_ = std::move(letters.folded);
  kinds_ = std::move(letters.kinds);
  widths_ = std::move(letters.widths);
}

IndexedText WordIndex::text(std::size_t entry) const {
  const auto [begin, title, length] = entries_[entry];
  return {.letters = std::u32string_view(letters_).substr(begin, length),
          .kinds = std::string_view(kinds_).substr(begin, length),
          .title = title};
}

std::vector<SearchHit> WordIndex::search(std::string_view utf8, std::size_t most) const {
  const std::vector<std::u32string> words = read_query(utf8);
  std::vector<SearchHit> hits;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const std::optional<std::vector<Place>> places = find_words(words, text(i));
    if (!places) continue;
    SearchHit& hit = hits.emplace_back(SearchHit{.entry = i});
    for (const Place& place : *places) hit.score += place.score;
  }
  const auto is_better = [&](const SearchHit& a, const SearchHit& b) {
    if (words.empty()) return a.entry < b.entry;
    if (a.score != b.score) return a.score > b.score;
    const std::size_t a_title = entries_[a.entry].title, b_title = entries_[b.entry].title;
    return a_title != b_title ? a_title < b_title : a.entry < b.entry;
  };
  const std::size_t shown = std::min(most, hits.size());
  std::ranges::partial_sort(hits, hits.begin() + static_cast<std::ptrdiff_t>(shown), is_better);
  hits.resize(shown);
  return hits;
}

SearchMarks WordIndex::marks(std::string_view utf8, std::size_t index) const {
  SearchMarks marks;
  if (index >= entries_.size()) return marks;
  const IndexedText text = this->text(index);
  const std::vector<Place> places = find_words(read_query(utf8), text).value_or(std::vector<Place>());
  std::size_t byte = 0;  // of the title, then of the detail
  for (std::size_t i = 0; i < text.letters.size(); ++i) {
    const std::size_t width = widths_[entries_[index].begin + i];
    if (i == text.title) {
      byte = 0;
      continue;  // the space between them
    }
    const auto has_it = [i](const Place& place) { return i >= place.begin && i < place.end; };
    if ((text.kinds[i] & kBetween) == 0 && std::ranges::any_of(places, has_it)) {
      std::vector<ByteRange>& ranges = i < text.title ? marks.title : marks.detail;
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
