#include <algorithm>
#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "attention/expression_tree.h"
#include "core/utf8.h"

namespace headlight::attention {
namespace {

/// Up to 1,000 characters may be one word or number, and a message is one line.
std::string shortened(std::string_view word) {
  constexpr std::size_t kLongestQuoted = 40;
  return one_line(word, kLongestQuoted);
}

// Not std::isdigit: what a letter is must not depend on the locale.
bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }
bool is_word(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || letter == '_' || is_digit(letter);
}
bool is_blank(char letter) { return letter == ' ' || letter == '\t' || letter == '\n'; }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::vector<ExpressionToken> tokens() {
    std::vector<ExpressionToken> tokens;
    do {
      while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
      tokens.push_back(next());
    } while (tokens.back().kind != ExpressionToken::Kind::End);
    return tokens;
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  [[noreturn]] void refuse(std::size_t at, std::string message) const {
    throw ExpressionRefusal{{static_cast<std::uint32_t>(at + 1), std::move(message)}};
  }

  ExpressionToken token(ExpressionToken::Kind kind, std::size_t length) {
    const ExpressionToken found{
        .kind = kind, .text = text_.substr(at_, length), .column = static_cast<std::uint32_t>(at_ + 1)};
    at_ += length;
    return found;
  }

  ExpressionToken next() {
    if (at_ == text_.size()) return token(ExpressionToken::Kind::End, 0);
    const char first = peek();
    if (is_digit(first) || (first == '.' && is_digit(peek(1)))) return number();
    if (is_word(first)) {
      std::size_t length = 1;
      while (is_word(peek(length))) ++length;
      return token(ExpressionToken::Kind::Word, length);
    }
    return sign();
  }

  ExpressionToken sign() {
    static constexpr std::array<std::string_view, 9> kPairs = {"<=", ">=", "==", "!=", "&&", "||", "^^", "<<", ">>"};
    static constexpr std::string_view kSigns = "+-*/%<>!~&|^?:(),";
    const std::string_view rest = text_.substr(at_);
    for (const std::string_view pair : kPairs) {
      if (rest.starts_with(pair)) return token(ExpressionToken::Kind::Sign, 2);
    }
    const char letter = rest.front();
    if (kSigns.find(letter) != std::string_view::npos) return token(ExpressionToken::Kind::Sign, 1);
    if (letter == '=') refuse(at_, "nothing can be assigned; == compares");
    if (letter == ';' || letter == '{' || letter == '}')
      refuse(at_, fmt::format("'{}' ends or groups statements, but this is one expression without any", letter));
    if (letter == '[' || letter == ']' || letter == '.') refuse(at_, "there are no arrays, vectors or buffers");
    if (letter == '#' || letter == '\\') refuse(at_, "there is no preprocessor");
    if (letter < ' ' || letter > '~') refuse(at_, "only letters, digits and signs of ASCII can be used");
    refuse(at_, fmt::format("'{}' means nothing here", letter));
  }

  ExpressionToken number() {
    const std::size_t start = at_;
    const bool is_hexadecimal = peek() == '0' && (peek(1) == 'x' || peek(1) == 'X');
    std::size_t length = is_hexadecimal ? 2 : 0;
    bool is_float = false;
    if (is_hexadecimal) {
      while (std::string_view("0123456789abcdefABCDEF").find(peek(length)) != std::string_view::npos && peek(length) != '\0')
        ++length;
    } else {
      while (is_digit(peek(length))) ++length;
      if (peek(length) == '.') {
        is_float = true;
        ++length;
        while (is_digit(peek(length))) ++length;
      }
      if (peek(length) == 'e' || peek(length) == 'E') {
        const std::size_t sign = peek(length + 1) == '+' || peek(length + 1) == '-' ? 1 : 0;
        if (is_digit(peek(length + 1 + sign))) {
          is_float = true;
          length += 1 + sign;
          while (is_digit(peek(length))) ++length;
        }
      }
    }
    const std::string_view digits = text_.substr(start, length);
    const char suffix = peek(length);
    const bool is_unsigned = !is_float && (suffix == 'u' || suffix == 'U');
    const bool is_marked_float = is_float && (suffix == 'f' || suffix == 'F');
    const std::size_t whole = length + (is_unsigned || is_marked_float ? 1 : 0);
    if (is_word(peek(whole)) || peek(whole) == '.') {
      std::size_t end = whole;
      while (is_word(peek(end)) || peek(end) == '.') ++end;
      refuse(start, quoted(text_.substr(start, end)) + " is no number");
    }
    ExpressionToken found = token(ExpressionToken::Kind::Number, whole);
    if (is_float) {
      read_float(start, digits, found);
    } else {
      read_integer(start, is_hexadecimal, digits, is_unsigned, found);
    }
    return found;
  }

  void read_float(std::size_t start, std::string_view digits, ExpressionToken& found) const {
    found.type = ValueType::Float;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), found.number);
    if (error == std::errc::result_out_of_range || found.number > static_cast<double>(std::numeric_limits<float>::max()))
      refuse(start, fmt::format("{} is beyond what a float holds", shortened(digits)));
    if (error != std::errc() || end != digits.data() + digits.size()) refuse(start, quoted(digits) + " is no number");
    // A device may take smaller numbers for 0, and float32 holds none below 1.4e-45.
    if (found.number < static_cast<double>(std::numeric_limits<float>::min())) found.number = 0.0;
  }

  void read_integer(std::size_t start, bool is_hexadecimal, std::string_view digits, bool is_unsigned,
                    ExpressionToken& found) const {
    found.type = is_unsigned ? ValueType::Uint : ValueType::Int;
    if (!is_hexadecimal && digits.size() > 1 && digits.front() == '0')
      refuse(start, fmt::format("in GLSL {} would be an octal number; write it without the leading 0", shortened(digits)));
    const std::string_view typed = digits;
    if (is_hexadecimal) digits.remove_prefix(2);
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, is_hexadecimal ? 16 : 10);
    const std::uint64_t most =
        is_unsigned ? std::numeric_limits<std::uint32_t>::max() : std::numeric_limits<std::int32_t>::max();
    if (error == std::errc::result_out_of_range || (error == std::errc() && value > most))
      refuse(start, fmt::format("{} is more than {}, the most of {}", shortened(typed), most, to_string(found.type)));
    if (error != std::errc() || end != digits.data() + digits.size()) refuse(start, quoted(typed) + " is no number");
    found.number = static_cast<double>(value);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::string quoted(std::string_view word) { return fmt::format("'{}'", shortened(word)); }

std::vector<ExpressionToken> expression_tokens(std::string_view text) { return Lexer(text).tokens(); }

}  // namespace headlight::attention
