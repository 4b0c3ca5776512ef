#include "text/template_syntax.h"

#include <algorithm>

#include "core/error.h"
#include "text/unicode.h"

namespace headlight::text {
namespace {

using TokenKind = TemplateToken::Kind;

bool is_name_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
bool is_digit_letter(char c) { return c >= '0' && c <= '9'; }
bool is_blank_letter(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  std::vector<TemplateToken> split() {
    while (at_ < source_.size()) read_text();
    push(TokenKind::End, "");
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void fail(std::string_view reason) const { throw Error("line {}: {}", line(), reason); }
  std::size_t line() const {
    return 1 + static_cast<std::size_t>(std::ranges::count(source_.substr(0, std::min(at_, source_.size())), '\n'));
  }
  void push(TokenKind kind, std::string_view text) { tokens_.push_back({kind, std::string(text), line_}); }

  bool has(std::string_view sign) const { return source_.substr(at_).starts_with(sign); }

  void count_lines(std::size_t until) {
    line_ += static_cast<std::size_t>(std::ranges::count(source_.substr(counted_, until - counted_), '\n'));
    counted_ = until;
  }

  /// The text up to the next tag, and the tag.
  void read_text() {
    const std::size_t begin = at_;
    std::size_t tag = source_.find('{', at_);
    while (tag != std::string_view::npos && source_.substr(tag + 1, 1).find_first_of("{%#") != 0)
      tag = source_.find('{', tag + 1);
    const std::size_t end = std::min(tag, source_.size());
    at_ = std::min(end + 2, source_.size());
    const char kind = end < source_.size() ? source_[end + 1] : '\0';
    const bool strips = has("-"), keeps = has("+");
    std::string_view text = source_.substr(begin, end - begin);
    if (kind != '\0' && strips) {
      while (!text.empty() && is_blank_letter(text.back())) text.remove_suffix(1);
    } else if ((kind == '%' || kind == '#') && !keeps) {
      text = without_indent(text, begin);
    }
    if (!text.empty()) push(TokenKind::Text, text);
    count_lines(end);
    if (strips || keeps) ++at_;
    if (kind == '#') {
      skip_comment();
    } else if (const std::size_t raw = kind == '%' ? after_word(end, "raw") : std::string_view::npos;
               raw != std::string_view::npos) {
      read_raw(raw);
    } else if (kind != '\0') {
      read_tag(kind == '%');
    }
  }

  /// Spaces between the start of a line and a block.
  std::string_view without_indent(std::string_view text, std::size_t begin) const {
    const std::size_t last = text.find_last_not_of(" \t");
    if (last != std::string_view::npos && text[last] != '\n') return text;
    const bool starts_line = last != std::string_view::npos || begin == 0 || source_[begin - 1] == '\n';
    return starts_line ? text.substr(0, last == std::string_view::npos ? 0 : last + 1) : text;
  }

  /// Returns the place after the tag "{% word %}" at this place; npos where another tag is there.
  std::size_t after_word(std::size_t tag, std::string_view word) const {
    const auto skip = [&](std::size_t at) {
      at += source_.substr(at, 1).find_first_of("-+") == 0 ? 1U : 0U;
      return std::min(source_.find_first_not_of(" \t\n\r", at), source_.size());
    };
    const std::size_t at = skip(tag + 2);
    if (!source_.substr(at).starts_with(word)) return std::string_view::npos;
    const std::size_t end = source_.find("%}", at);
    return end != std::string_view::npos && skip(skip(at + word.size())) == end ? end + 2 : std::string_view::npos;
  }

  /// The text up to {% endraw %}, as it is.
  void read_raw(std::size_t begin) {
    std::size_t tag = source_.find("{%", begin), after = 0;
    while (tag != std::string_view::npos && (after = after_word(tag, "endraw")) == std::string_view::npos)
      tag = source_.find("{%", tag + 1);
    if (tag == std::string_view::npos) fail("{% endraw %} is missing");
    std::string_view text = source_.substr(begin, tag - begin);
    if (source_[begin - 3] == '-') text.remove_prefix(std::min(text.find_first_not_of(" \t\n\r"), text.size()));
    if (source_[tag + 2] == '-')
      text = text.substr(0, text.find_last_not_of(" \t\n\r") + 1);
    else if (source_[tag + 2] != '+')
      text = without_indent(text, begin);
    push(TokenKind::Text, text);
    at_ = after;
    after_tag(source_[after - 3] == '-', source_[after - 3] != '+');
  }

  void skip_comment() {
    const std::size_t end = source_.find("#}", at_);
    if (end == std::string_view::npos) fail("a comment has no end");
    const bool strips = end > at_ && source_[end - 1] == '-';
    at_ = end + 2;
    after_tag(strips, true);
  }

  void after_tag(bool strips, bool trims) {
    if (strips) {
      while (at_ < source_.size() && is_blank_letter(source_[at_])) ++at_;
    } else if (trims && has("\n")) {
      ++at_;
    }
    count_lines(at_);
  }

  void read_tag(bool is_block) {
    push(is_block ? TokenKind::BlockBegin : TokenKind::OutputBegin, "");
    const std::string_view end = is_block ? "%}" : "}}";
    int open = 0;  // brackets, inside of which "}}" closes dictionaries
    for (;;) {
      while (at_ < source_.size() && is_blank_letter(source_[at_])) ++at_;
      count_lines(at_);
      if (at_ >= source_.size()) fail("a tag has no end");
      const bool strips = has("-") && source_.substr(at_ + 1).starts_with(end);
      const bool keeps = has("+") && source_.substr(at_ + 1).starts_with(end);
      if (open == 0 && (strips || keeps || has(end))) {
        push(is_block ? TokenKind::BlockEnd : TokenKind::OutputEnd, "");
        at_ += end.size() + (strips || keeps ? 1 : 0);
        return after_tag(strips, is_block && !keeps);
      }
      const char c = source_[at_];
      open += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
      if (open < 0) fail("a bracket closes none");
      read_token(c);
    }
  }

  void read_token(char c) {
    if (c == '"' || c == '\'') return read_string(c);
    const std::size_t begin = at_;
    if (is_digit_letter(c)) {
      while (at_ < source_.size() && (is_digit_letter(source_[at_]) || source_[at_] == '_')) ++at_;
      if (has(".") && at_ + 1 < source_.size() && is_digit_letter(source_[at_ + 1])) {
        ++at_;
        while (at_ < source_.size() && is_digit_letter(source_[at_])) ++at_;
      }
      const std::size_t sign = has("e") || has("E") ? at_ + 1 : source_.size();
      const std::size_t digits =
          sign + (source_.substr(std::min(sign, source_.size()), 1).find_first_of("+-") == 0 ? 1U : 0U);
      if (digits < source_.size() && is_digit_letter(source_[digits])) {
        at_ = digits;
        while (at_ < source_.size() && is_digit_letter(source_[at_])) ++at_;
      }
      return push(TokenKind::Number, source_.substr(begin, at_ - begin));
    }
    if (is_name_letter(c)) {
      while (at_ < source_.size() && is_name_letter(source_[at_])) ++at_;
      return push(TokenKind::Name, source_.substr(begin, at_ - begin));
    }
    for (const std::string_view sign : {"==", "!=", "<=", ">=", "//", "**"}) {
      if (!has(sign)) continue;
      at_ += sign.size();
      return push(TokenKind::Sign, sign);
    }
    if (std::string_view("+-*/%~<>=()[]{},:.|").find(c) == std::string_view::npos)
      fail(fmt::format("\"{}\" has no meaning here", c));
    ++at_;
    push(TokenKind::Sign, source_.substr(begin, 1));
  }

  void read_string(char quote) {
    std::string content;
    for (++at_; at_ < source_.size() && source_[at_] != quote; ++at_) {
      if (source_[at_] == '\\' && at_ + 1 < source_.size()) {
        read_escape(content);
      } else {
        content += source_[at_];
      }
    }
    if (at_ >= source_.size()) fail("a string has no end");
    ++at_;
    push(TokenKind::String, content);
  }

  void read_escape(std::string& content) {
    constexpr std::string_view kNames = "nrt0\\'\"", kValues = {"\n\r\t\0\\'\"", 7};
    const char name = source_[++at_];
    const std::size_t known = kNames.find(name);
    if (known != std::string_view::npos) {
      content += kValues[known];
    } else if (const std::size_t digits = name == 'u' ? 4 : name == 'x' ? 2 : name == 'U' ? 8 : 0; digits > 0) {
      char32_t letter = 0;
      for (std::size_t i = 0; i < digits; ++i) {
        const std::size_t digit = at_ + 1 < source_.size()
                                      ? std::string_view("0123456789abcdefABCDEF").find(source_[at_ + 1])
                                      : std::string_view::npos;
        if (digit == std::string_view::npos) fail("an escape needs more digits");
        letter = letter * 16 + static_cast<char32_t>(digit < 16 ? digit : digit - 6);
        ++at_;
      }
      if (letter > 0x10FFFF || (letter >= 0xD800 && letter < 0xE000)) fail("an escape names no character");
      append_utf8(content, letter);
    } else {
      content += '\\';
      content += name;
    }
  }

  std::string_view source_;
  std::size_t at_ = 0;
  std::size_t line_ = 1, counted_ = 0;
  std::vector<TemplateToken> tokens_;
};

}  // namespace

std::vector<TemplateToken> split_template(std::string_view source) {
  std::string text;
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      text += '\n';
      if (source.substr(i + 1, 1) == "\n") ++i;
    } else {
      text += source[i];
    }
  }
  if (text.ends_with('\n')) text.pop_back();
  return Lexer(text).split();
}

}  // namespace headlight::text
