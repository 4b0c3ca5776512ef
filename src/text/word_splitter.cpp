#include "text/word_splitter.h"

#include <algorithm>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include "text/regex.h"
#include "text/unicode.h"

namespace headlight::text {
namespace {

/// The characters that the names in patterns stand for, inside of a set. Letters without case count as either.
constexpr std::pair<std::string_view, std::string_view> kSets[] = {
    {"MARKS", R"(,:;!?¿؟¡(){}<>_#*&。？！，、；：～·।،۔؛٪QUOTES\[\])"},
    {"QUOTES", R"('"”“`‘´’‚„»«「」『』（）〔〕【】《》〈〉〈〉⟦⟧)"},
    {"LOWER", R"(\p{Ll}\p{Lo})"},
    {"UPPER", R"(\p{Lu}\p{Lo})"},
    {"LETTER", R"(\p{L})"}};

/// Patterns of a language: what is split off at the beginning and the end of a piece, and inside of it.
struct WordPatterns {
  std::string_view prefix, suffix, infix;
};
constexpr WordPatterns kGermanPatterns = {
    .prefix = R"(``|[§%=—–]|\+(?![0-9])|\.\.+|…|[MARKS]|US\$|[CA]\$|\p{Sc}|\p{So})",
    .suffix = R"(''|/|\.\.+|…|[MARKS]|\p{So}|(?<=[0-9])\+|(?<=°[FfCcKk])\.|(?<=[0-9])(?:US\$|[CA]\$|\p{Sc}|UNITS))"
              R"(|(?<=[LOWER%²+|MARKS\-])\.|(?<=[UPPER][UPPER])\.)",
    .infix = R"(\.\.+|…|\p{So}|(?<=[LOWER])\.(?=[UPPER])|(?<=[LETTER])(?:[,!?:<>="”“`‘´’‚„»«)(\]\[]|--)(?=[LETTER]))"
             R"(|(?<=[0-9LETTER])/(?=[0-9LETTER])|(?<=[0-9])-(?=[0-9]))"};
constexpr WordPatterns kEnglishPatterns = {
    .prefix = R"([§%=—–]|\+(?![0-9])|\.\.+|…|[MARKS]|US\$|[CA]\$|\p{Sc}|\p{So})",
    .suffix = R"(\.\.+|…|[MARKS]|\p{So}|['’][sS]|[—–]|(?<=[0-9])\+|(?<=°[FfCcKk])\.|(?<=[0-9])(?:US\$|[CA]\$|\p{Sc}|UNITS))"
              R"(|(?<=[0-9LOWER%²+|MARKS\-])\.|(?<=[UPPER][UPPER])\.)",
    .infix = R"(\.\.+|…|\p{So}|(?<=[0-9])[+*^\-](?=[0-9\-])|(?<=[LOWERQUOTES])\.(?=[UPPERQUOTES]))"
             R"(|(?<=[LETTER]),(?=[LETTER])|(?<=[0-9LETTER])(?:---?|——|[\-–—~:<>=/])(?=[LETTER]))"};
constexpr std::string_view kUnits =
    "[kdcm]?m[²³]?|ha|[µn]m|yd|in|ft|[km]?g|µg|t|lb|oz|m/s|km/h|kmh|mph|hPa|Pa|mbar|mb|MB|kb|KB|gb|GB|tb|TB|[TGMK%]";
constexpr std::string_view kAddress =
    R"(\A(?:[a-z][a-z0-9+.\-]*://)?(?:[^\s@/]+@)?(?>[\p{L}0-9][\p{L}0-9_\-]*\.)+[LOWER]{2,63})"
    R"((?::[0-9]{2,5})?(?:[/?#]\S*)?\z)";

constexpr std::size_t kWindow = 64;          // bytes at a piece's ends in which punctuation is looked for
constexpr std::size_t kLongAddress = 2'048;  // bytes; longer pieces are no web address

/// Words with a full stop, an apostrophe or a slash that aren't split.
constexpr std::string_view kWhole =
    "Apr. Aug. C++ Co. D.C. Dr. Feb. Inc. Jan. Jr. Jul. Jun. Mo. Mr. N.Y. Nov. Prof. Sep. Sept. St. co. e.g. i.e. v.v. vs. "
    "a. b. c. d. e. f. g. h. i. j. k. l. m. n. o. p. q. r. s. t. u. v. w. x. y. z. ä. ö. ü. 's 'S ’s ’S '' ’’ :) :( :-) :-( "
    ";) ;-) :D :P <3";
constexpr std::string_view kGermanWhole =
    "A.C. A.D. A.G. Abb. Abk. Abs. Abt. B.A. B.Sc. Bd. Betr. Bhf. Bsp. Chr. Cie. Dez. Di. Dipl. Dipl.-Ing. Do. Fa. Fam. Fr. "
    "Frl. G.m.b.H. Gebr. Hbf. Hg. Hr. Hrn. Hrsg. I. II. III. IV. Ing. Jh. Jhd. K.O. L.A. M.A. M.Sc. Mi. Mio. Mrd. Mrz. "
    "MwSt. "
    "Mär. N.Y.C. Nr. O.K. Okt. P.S. Pkt. R.I.P. Red. Sa. So. Std. Str. Tel. Tsd. U.S. U.S.A. U.S.S. Univ. Vol. a.D. a.M. "
    "abzgl. al. allg. betr. bspw. bzgl. bzw. c/o ca. d.h. dgl. e.V. ebd. ehem. eigtl. engl. entspr. etc. ev. evtl. frz. "
    "geb. "
    "gegr. gem. ggf. ggfs. ggü. h.c. hrsg. i.A. i.G. i.O. i.V. i.d.R. incl. inkl. insb. jr. jun. kath. lat. lt. max. min. "
    "mind. mtl. n.Chr. nat. o.a. o.g. o.k. o.ä. orig. p.a. pers. q.e.d. röm. s.o. sen. sog. std. stellv. tägl. u.U. u.a. "
    "u.s.w. u.v.m. usf. usw. uvm. v.Chr. v.a. v.l.n.r. vgl. vllt. vlt. wiss. z.B. z.Bsp. z.T. z.Z. z.Zt. z.b. zzgl. österr. "
    "'n 'ne 'nem 'nen ’n ’ne ’nem ’nen d' d’ L' L’ s' s’ S' S’ CDU/CSU";
constexpr std::string_view kEnglishWhole =
    "'d 'll 're ’d ’ll ’re 'em ’em 'cause ’cause 'bout ’bout 'til Adm. Ala. Ariz. Ark. Bros. Calif. Colo. Conn. Corp. Dec. "
    "Del. E.G. E.g. Fla. Ga. Gen. Gov. I.E. I.e. Ia. Id. Ill. Ind. Kan. Ky. La. Ltd. Mar. Mass. Md. Messrs. Mich. Minn. "
    "Miss. "
    "Mont. Mrs. Ms. Mt. N.C. N.D. N.H. N.J. N.M. Neb. Nev. Oct. Okla. Ore. Pa. Ph.D. Rep. Rev. S.C. Sen. Tenn. Va. Wash. "
    "Wis. "
    "a.m. p.m. v.s. and/or w/o o'clock o’clock O'clock O’clock ma'am ma’am Ma'am Ma’am doin' goin' havin' nothin' ol' "
    "somethin'";

/// Words and what is written together with them: every ending may follow every stem, and is a word.
struct Contraction {
  std::string_view stems, endings;   ///< with spaces between them; "|" inside an ending cuts it in two
  std::string_view with_apostrophe;  ///< stems that need the apostrophe: "shed" is one word
};
constexpr Contraction kGermanContractions[] = {{"du er ich ihr sie wir", "'s", "du er ich ihr sie wir"},
                                               {"auf hinter unter vor über", "'m", "auf hinter unter vor über"}};
constexpr Contraction kEnglishContractions[] = {
    {"ai are ca could dare did does do had has have is may might must need ought sha should was were wo would",
     "n't n't|'ve", ""},
    {"could how i might must not should there these they those we what when where who why would you", "'ve", ""},
    {"he how i it she that there these they this those we what when where who why you", "'d", "she"},
    {"he how i it she that there these they this those we what when where who why you", "'ll", "he i she we who"},
    {"he how i it she that there these they this those we what when where who why you", "'d|'ve 'll|'ve", ""},
    {"he how it let she that there this what when where who why", "'s", "it let"},
    {"how there these they those we what when where who why you", "'re", "we who"},
    {"i", "'m 'm|a", ""},
    {"1 2 3 4 5 6 7 8 9 10 11 12", "am pm a.m. p.m.", ""},
    {"can", "not", ""},
    {"gon", "na", ""},
    {"got", "ta", ""}};

std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::string replaced(std::string_view text, std::string_view what, std::string_view with) {
  std::string result(text);
  for (std::size_t at = 0; (at = result.find(what, at)) != std::string::npos; at += with.size())
    result.replace(at, what.size(), with);
  return result;
}

/// A pattern with its names replaced.
Regex compiled(std::string_view before, std::string_view pattern, std::string_view after) {
  std::string text = std::string(before).append(replaced(pattern, "UNITS", kUnits)).append(after);
  for (const auto& [name, characters] : kSets) text = replaced(text, name, characters);
  return Regex(text);
}

class Splitter {
 public:
  Splitter(const WordPatterns& patterns, std::string_view whole, std::span<const Contraction> contractions)
      : prefix_(compiled(R"(\A(?:)", patterns.prefix, ")")),
        suffix_(compiled("(?:", patterns.suffix, R"()\z)")),
        infix_(compiled("", patterns.infix, "")),
        address_(compiled("", kAddress, "")) {
    for (const std::string_view list : {kWhole, whole}) {
      for (const std::string_view word : parts_of(list, ' ')) special_.emplace(word, std::vector{word.size()});
    }
    for (const Contraction& contraction : contractions) add(contraction);
  }

  /// Appends the words of a piece without white space that begins at byte `at` of the text.
  void split(std::string_view piece, std::size_t at, std::vector<ByteRange>& words) const {
    const auto add_word = [&](std::size_t begin, std::size_t end) {
      words.push_back({static_cast<std::uint32_t>(at + begin), static_cast<std::uint32_t>(at + end)});
    };
    std::size_t begin = 0, end = piece.size();
    std::vector<std::size_t> suffixes;  // where they begin, from the last one on
    const auto rest = [&] { return piece.substr(begin, end - begin); };
    while (begin < end && !is_special(rest())) {
      const std::size_t prefix = prefix_of(rest());
      if (prefix > 0 && is_special(rest().substr(prefix))) {
        add_word(begin, begin + prefix);
        begin += prefix;
        break;
      }
      const std::size_t suffix = suffix_of(rest().substr(prefix));
      if (prefix + suffix == 0) break;
      if (suffix > 0) suffixes.push_back(end - suffix);
      end -= suffix;
      if (suffix > 0 && is_special(rest())) break;
      if (prefix > 0) add_word(begin, begin + prefix);
      begin += prefix;
    }
    split_middle(rest(), begin, add_word);
    for (std::size_t i = suffixes.size(); i-- > 0;) add_word(suffixes[i], i > 0 ? suffixes[i - 1] : piece.size());
  }

 private:
  void add(const Contraction& contraction) {
    const std::vector<std::string_view> needing = parts_of(contraction.with_apostrophe, ' ');
    for (const std::string_view stem : parts_of(contraction.stems, ' ')) {
      for (const std::string_view ending : parts_of(contraction.endings, ' ')) {
        for (const std::string_view apostrophe : {"'", "’", ""}) {
          if (apostrophe.empty() && std::ranges::find(needing, stem) != needing.end()) continue;
          std::string word(stem);
          std::vector<std::size_t> lengths = {stem.size()};
          for (const std::string_view part : parts_of(ending, '|')) {
            word += replaced(part, "'", apostrophe);
            lengths.push_back(word.size());
          }
          special_.emplace(word, lengths);
          if (word[0] >= 'a' && word[0] <= 'z') word[0] = static_cast<char>(word[0] - 'a' + 'A');
          special_.emplace(std::move(word), std::move(lengths));
        }
      }
    }
  }

  bool is_special(std::string_view text) const { return special_.contains(std::string(text)); }

  std::size_t prefix_of(std::string_view text) const {
    const std::vector<ByteRange> found = prefix_.find_all(text.substr(0, std::min(text.size(), kWindow)));
    return found.empty() ? 0 : found.front().end;
  }

  std::size_t suffix_of(std::string_view text) const {
    std::size_t from = text.size() > kWindow ? text.size() - kWindow : 0;
    while (from < text.size() && (static_cast<unsigned char>(text[from]) & 0xC0U) == 0x80U) ++from;
    const std::string_view window = text.substr(from);
    const std::vector<ByteRange> found = suffix_.find_all(window);
    return found.empty() ? 0 : window.size() - found.front().begin;
  }

  template <typename AddWord>
  void split_middle(std::string_view text, std::size_t begin, const AddWord& add_word) const {
    std::size_t at = 0;
    if (const auto special = special_.find(std::string(text)); special != special_.end()) {
      for (const std::size_t end : special->second) add_word(begin + at, begin + end), at = end;
      return;
    }
    const bool is_address = text.size() <= kLongAddress && !address_.find_all(text).empty();
    if (!is_address) {
      for (const ByteRange& infix : infix_.find_all(text)) {
        if (infix.begin > at) add_word(begin + at, begin + infix.begin);
        add_word(begin + infix.begin, begin + infix.end);
        at = infix.end;
      }
    }
    if (at < text.size()) add_word(begin + at, begin + text.size());
  }

  Regex prefix_, suffix_, infix_, address_;
  std::unordered_map<std::string, std::vector<std::size_t>> special_;  ///< where each of its words ends
};

}  // namespace

std::optional<WordLanguage> parse_word_language(std::string_view name) {
  if (name == "de") return WordLanguage::German;
  if (name == "en") return WordLanguage::English;
  return std::nullopt;
}

std::vector<ByteRange> split_words(std::string_view text, WordLanguage language) {
  static const Splitter kGerman(kGermanPatterns, kGermanWhole, kGermanContractions);
  static const Splitter kEnglish(kEnglishPatterns, kEnglishWhole, kEnglishContractions);
  const Splitter& splitter = language == WordLanguage::German ? kGerman : kEnglish;
  std::vector<ByteRange> words;
  bool is_after_word = false;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = begin;
    const bool is_space = is_white_space(next_code_point(text, end));
    while (end < text.size()) {
      std::size_t next = end;
      if (is_white_space(next_code_point(text, next)) != is_space) break;
      end = next;
    }
    if (is_space) {
      if (is_after_word && text[begin] == ' ') ++begin;
      if (begin < end) words.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)});
    } else {
      splitter.split(text.substr(begin, end - begin), begin, words);
    }
    is_after_word = !is_space;
    begin = end;
  }
  return words;
}

}  // namespace headlight::text
