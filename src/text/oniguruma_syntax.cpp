#include "text/oniguruma_syntax.h"

#include <vector>

#include "core/error.h"

namespace headlight::text {
namespace {

// White_Space, and the word characters of UTS #18 with the Latin-1 numerals that Oniguruma adds to them. Each ends in a
// property so that a following hyphen stays a hyphen.
constexpr std::string_view kSpace = R"(\x09-\x0D\x{85}\p{Z})";
constexpr std::string_view kWord =
    R"(\p{L}\p{M}\p{Nl}\p{Nd}\xB2\xB3\xB9\xBC-\xBE\x{24B6}-\x{24E9}\x{1F130}-\x{1F149}\x{1F150}-\x{1F169}\x{1F170}-\x{1F189}\p{Pc})";
constexpr std::string_view kNoSpace =
    R"(\x00-\x08\x0E-\x1F\x21-\x{84}\x{86}-\x{9F}\x{A1}-\x{167F}\x{1681}-\x{1FFF}\x{200B}-\x{2027}\x{202A}-\x{202E})"
    R"(\x{2030}-\x{205E}\x{2060}-\x{2FFF}\x{3001}-\x{10FFFF})";

class Translator {
 public:
  explicit Translator(std::string_view pattern) : pattern_(pattern) {}

  std::string run() {
    while (at_ < pattern_.size()) step();
    return std::move(out_);
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < pattern_.size() ? pattern_[at_ + ahead] : '\0'; }

  [[noreturn]] void refuse(std::string_view what) const {
    throw Error("the regular expression \"{}\" has {} at character {}, which Headlight can't run", pattern_, what, at_ + 1);
  }

  void step() {
    const char c = peek();
    switch (c) {
      case '\\':
        begin_atom(), escape(false);
        break;
      case '[':
        begin_atom(), out_ += '[', set(), out_ += ']';
        break;
      case '(':
        open();
        break;
      case ')':
        close();
        break;
      case '{':
        braces();
        break;
      case '*':
      case '+':
      case '?':
      case '|':
        out_ += c, ++at_;
        break;
      default:
        begin_atom(), out_ += c, ++at_;
        break;
    }
  }

  void begin_atom() { atom_ = out_.size(); }

  void open() {
    groups_.push_back(out_.size());
    out_ += '(';
    ++at_;
    if (peek() == '*') refuse("a verb \"(*\"");
    if (peek() != '?') return;
    // Ruby's (?m) lets the dot match newlines, which PCRE2 calls (?s).
    std::size_t ahead = 1;
    while (peek(ahead) == 'i' || peek(ahead) == 'm' || peek(ahead) == 'x' || peek(ahead) == '-') ++ahead;
    const bool is_flags = ahead > 1 && (peek(ahead) == ')' || peek(ahead) == ':');
    for (std::size_t i = 0; is_flags && i < ahead; ++i) out_ += peek(i) == 'm' ? 's' : peek(i);
    if (is_flags)
      at_ += ahead;
    else
      out_ += '?', ++at_;
  }

  void close() {
    out_ += ')';
    ++at_;
    if (groups_.empty()) return;
    atom_ = groups_.back();
    groups_.pop_back();
  }

  /// {n,m}: a + after it is a second repetition in Ruby's syntax, but a possessive one in Perl's.
  void braces() {
    const std::size_t end = pattern_.find('}', at_);
    const std::string_view inside = end == std::string_view::npos ? "" : pattern_.substr(at_ + 1, end - at_ - 1);
    if (inside.empty() || inside.find_first_not_of("0123456789,") != std::string_view::npos) {
      begin_atom();
      out_ += "\\{";
      ++at_;
      return;
    }
    std::string repeat = "{";
    if (inside.front() == ',') repeat += '0';  // {,m} means {0,m}; PCRE2 10.42 takes it literally
    repeat += inside;
    repeat += '}';
    at_ = end + 1;
    out_ += repeat;
    if (peek() == '+') {
      out_.insert(atom_, "(?:");
      out_ += ')';
    }
  }

  void append_class(std::string_view content, bool negated, bool inside) {
    if (inside) {
      out_ += content;
    } else {
      out_ += negated ? "[^" : "[";
      out_ += content;
      out_ += ']';
    }
  }

  void escape(bool inside) {
    const char c = peek(1);
    if (c == '\0') refuse("a lone backslash");
    // A match that begins after its end, and parts of characters.
    if (c == 'K' || c == 'C') refuse(fmt::format("\\{}", c));
    at_ += 2;
    switch (c) {
      case 's':
        append_class(kSpace, false, inside);
        return;
      case 'S':
        append_class(inside ? kNoSpace : kSpace, true, inside);
        return;
      case 'w':
        append_class(kWord, false, inside);
        return;
      case 'W':
        if (inside) refuse("\\W in a set");
        append_class(kWord, true, false);
        return;
      case 'd':
        out_ += "\\p{Nd}";
        return;
      case 'D':
        out_ += "\\P{Nd}";
        return;
      case 'h':
        append_class("0-9A-Fa-f", false, inside);
        return;
      case 'H':
        if (inside) refuse("\\H in a set");
        append_class("0-9A-Fa-f", true, false);
        return;
      case 'v':
        out_ += "\\x0B";
        return;
      case 'u':
        out_ += "\\x{";
        out_ += pattern_.substr(at_, 4);
        out_ += '}';
        at_ += 4;
        return;
      default:
        break;
    }
    out_ += '\\';
    out_ += c;
    if ((c == 'p' || c == 'P' || c == 'x') && peek() == '{') {
      const std::size_t end = pattern_.find('}', at_);
      if (end == std::string_view::npos) refuse("an unclosed brace");
      out_ += pattern_.substr(at_, end + 1 - at_);
      at_ = end + 1;
    }
  }

  /// The content of a set, without its brackets; those of sets inside are dropped too, since nesting means union.
  void set() {
    constexpr std::size_t kDeepest = 32;
    if (++sets_ > kDeepest) refuse(fmt::format("sets more than {} deep", kDeepest));
    ++at_;
    if (peek() == '^') out_ += '^', ++at_;
    for (bool first = true;; first = false) {
      const char c = peek();
      if (c == '\0') refuse("an unclosed set");
      if (c == ']' && !first) break;
      if (c == '\\') {
        escape(true);
      } else if (c == '[' && peek(1) == ':') {
        const std::size_t end = pattern_.find(":]", at_);
        if (end == std::string_view::npos) refuse("an unclosed set");
        out_ += pattern_.substr(at_, end + 2 - at_);
        at_ = end + 2;
      } else if (c == '[') {
        if (peek(1) == '^') refuse("a negated set inside a set");
        set();
      } else if (c == '&' && peek(1) == '&') {
        refuse("an intersection of sets");
      } else {
        if (c == ']') out_ += '\\';
        out_ += c;
        ++at_;
      }
    }
    ++at_;
    --sets_;
  }

  std::string_view pattern_;
  std::size_t at_ = 0;
  std::string out_;
  std::size_t atom_ = 0;             ///< where in out_ the last atom begins, which a quantifier repeats
  std::vector<std::size_t> groups_;  ///< where in out_ the open groups begin
  std::size_t sets_ = 0;             ///< open ones
};

}  // namespace

std::string to_pcre2(std::string_view pattern) {
  constexpr std::size_t kLongest = 32'768;  // bytes; those of tokenizers have hundreds
  if (pattern.size() > kLongest) throw Error("a regular expression has {} bytes, more than {}", pattern.size(), kLongest);
  return Translator(pattern).run();
}

}  // namespace headlight::text
