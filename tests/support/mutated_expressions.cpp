#include "support/mutated_expressions.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <vector>

#include "attention/expression.h"

namespace headlight::test {
namespace {

using attention::Expression;

/// Texts that are accepted, and that together use every name, function, operator and type.
constexpr std::array<std::string_view, 26> kRight = {
    "k <= q && q - k < 64",
    "q != k ^^ k == q",
    "!(k > q) || segment_k == 1",
    "id_q != id_k || k == q",
    "k < n_k - 2 || (q ^ k) != 0",
    "abs(q - k) < slider(width, 1, 64) && (q - k) % int(slider(stride, 1, 8, 2)) == 0",
    "head >= 3 ? k <= q : type_q == type_k",
    "bool(id_k & 1) == (q > 3)",
    "uint(k) << 3u >= uint(q) >> 1",
    "~k < 0x1f && layer * 1000 + head * 100 + n_layers * 10 + n_heads > 7",
    "score - 0.1 * float(q - k)",
    "score * slider(gain, 0, 4, 1)",
    "layer == 1 ? 2.0 * score : score",
    "clamp(score, -2, 2.5) + mod(-1.0, 3)",
    "slider(cap, 1, 100, 30) * tanh(score / cap)",
    "score * float(n_layers - layer) / float(n_layers) + (type_q == type_k ? 0.5 : 0.0) - 0.1 * float(segment_q - "
    "segment_k)",
    "(id_k % 2 == 0 ? 0.25 : 0.0) - float(head) / float(n_heads) * float(k) / float(n_k)",
    "mix(score, floor(score), q == 7) + step(3, 2) + round(2.5) + ceil(1.2)",
    "exp(min(score, 3)) - exp2(-3) + log(exp(1.0)) + log2(max(8, score))",
    "pow(abs(score), 1.5) * sign(score) + sqrt(float(k) + .5)",
    "sin(score) * cos(0.5 * float(q)) + 1.",
    "7 / 2 + -7 % 3 - (5 / 0)",
    "float(6 & 3 ^ 1 | 8) + 1e-3 * 1000",
    "65536 * 65536 + 2147483647",
    "float(4294967295u * 4294967295u)",
    "n_q * 10 + n_k - int(2.9)"};

constexpr std::array<std::string_view, 16> kNumbers = {
    "2147483647", "2147483648", "-2147483648",  "4294967295u", "4294967296u", "99999999999999999999",
    "1e38",       "1e39",       "3.4028235e38", "1e-45",       "1e-400",      "0.0",
    "-0.0",       "1e",         "0xffffffff",   "0x1ffffffff"};

/// Words that may stand for each other.
constexpr std::array<std::string_view, 13> kNames = {"q",   "k",    "layer", "head",   "n_layers",  "n_heads",  "n_q",
                                                     "n_k", "id_q", "id_k",  "type_k", "segment_q", "segment_k"};
constexpr std::array<std::string_view, 5> kSums = {"+", "-", "*", "/", "%"};
constexpr std::array<std::string_view, 6> kComparisons = {"<", "<=", ">", ">=", "==", "!="};
constexpr std::array<std::string_view, 3> kTruths = {"&&", "||", "^^"};
constexpr std::array<std::string_view, 8> kPlainNumbers = {"0", "1", "3", "64", "2u", "0.5", "2.0", "1e-3"};

std::string right_text(Random& random) {
  const auto presets = attention::expression_presets();
  const std::uint32_t at = random.below(static_cast<std::uint32_t>(presets.size() + kRight.size()));
  return std::string(at < presets.size() ? presets[at].text : kRight.at(at - presets.size()));
}

/// Names, numbers, signs of one or two characters, and blanks.
std::vector<std::string> words_of(const std::string& text) {
  const auto is_of_word = [](char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_' || letter == '.';
  };
  static constexpr std::array<std::string_view, 9> kPairs = {"<=", ">=", "==", "!=", "&&", "||", "^^", "<<", ">>"};
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size(); at += words.back().size()) {
    std::size_t end = at + 1;
    if (is_of_word(text[at])) {
      while (end < text.size() && is_of_word(text[end])) ++end;
    } else if (std::ranges::find(kPairs, std::string_view(text).substr(at, 2)) != kPairs.end()) {
      ++end;
    }
    words.push_back(text.substr(at, end - at));
  }
  return words;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += word;
  return text;
}

/// Puts another name, sign or number in the place of one.
void exchange_word(std::string& word, Random& random) {
  const auto choose = [&](std::span<const std::string_view> kind) {
    if (std::ranges::find(kind, word) == kind.end()) return false;
    word = kind[random.below(static_cast<std::uint32_t>(kind.size()))];
    return true;
  };
  if (std::isdigit(static_cast<unsigned char>(word.front())) != 0) {
    word = kPlainNumbers.at(random.below(kPlainNumbers.size()));
  } else if (!choose(kNames) && !choose(kSums) && !choose(kComparisons) && !choose(kTruths)) {
    word = words_of(right_text(random)).front();
  }
}

void change_words(std::string& text, Random& random) {
  std::vector<std::string> words = words_of(text);
  if (words.empty()) return;
  const auto any = [&] { return words.begin() + random.below(static_cast<std::uint32_t>(words.size())); };
  const auto at = any();
  switch (random.below(7)) {
    case 0:
      words.erase(at);
      break;
    case 1:
      words.insert(at, std::string(*at));
      break;
    case 2:
      std::iter_swap(at, any());
      break;
    default:
      exchange_word(*at, random);
  }
  text = joined(words);
}

void splice(std::string& text, Random& random) {
  const std::string other = right_text(random);
  if (random.chance(0.5)) {
    text =
        "(" + text + ") " + random.pick<const char*>({"&&", "||", "+", "-", "*", "==", "? 1 :", "<"}) + " (" + other + ")";
    return;
  }
  std::vector<std::string> words = words_of(text);
  const std::vector<std::string> others = words_of(other);
  words.resize(random.below(static_cast<std::uint32_t>(words.size() + 1)));
  words.insert(words.end(), others.begin() + random.below(static_cast<std::uint32_t>(others.size() + 1)), others.end());
  text = joined(words);
}

/// Nests up to a little deeper than an expression may.
void nest(std::string& text, Random& random) {
  const std::string opening = random.pick<const char*>({"(", "-(", "!(", "abs(", "min(1, ", "(true ? 1 : ", "~"});
  const bool closes = opening.back() != '~';
  for (std::uint32_t count = random.below(random.chance(0.3) ? Expression::kDeepest + 20 : 8); count > 0; --count) {
    text = opening + text;
    if (closes) text += ')';
  }
}

void put_number(std::string& text, Random& random) {
  std::vector<std::string> words = words_of(text);
  std::vector<std::size_t> numbers;
  for (std::size_t at = 0; at < words.size(); ++at) {
    if (std::isdigit(static_cast<unsigned char>(words[at].front())) != 0) numbers.push_back(at);
  }
  const auto number = std::string(kNumbers.at(random.below(kNumbers.size())));
  if (numbers.empty()) {
    text += " + " + number;
    return;
  }
  words[numbers[random.below(static_cast<std::uint32_t>(numbers.size()))]] = number;
  text = joined(words);
}

void put_bytes(std::string& text, Random& random) {
  const std::string bytes = random.pick<const char*>({"\xff", "\xc3", "\xe6\x97\xa5", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                                                      "\x1b[31m", "\xc0\xaf", "\xe2\x80\xae", "\n", "\x7f"});
  text.insert(random.below(static_cast<std::uint32_t>(text.size() + 1)), random.chance(0.1) ? std::string(1, '\0') : bytes);
}

void lengthen(std::string& text, Random& random) {
  if (random.chance(0.3)) {
    text.insert(random.below(static_cast<std::uint32_t>(text.size() + 1)), random.between(1, 1'100),
                random.pick({' ', '0', '('}));
    return;
  }
  const std::string once = text, between = random.pick<const char*>({" + ", " && ", " * ", ", "});
  const std::size_t most = random.between(100, Expression::kLongest + 100);
  while (text.size() < most) text += between + once;
}

void mutate(std::string& text, Random& random) {
  switch (random.below(16)) {
    case 0:
      return put_bytes(text, random);
    case 1:
      return lengthen(text, random);
    case 2:
      return nest(text, random);
    case 3:
    case 4:
      return put_number(text, random);
    case 5:
    case 6:
    case 7:
      return splice(text, random);
    case 8:
      if (text.empty()) return;
      text[random.below(static_cast<std::uint32_t>(text.size()))] ^= static_cast<char>(1U << random.below(8));
      return;
    default:
      return change_words(text, random);
  }
}

}  // namespace

std::string mutated_expression(Random& random) {
  std::string text = right_text(random);
  for (std::uint32_t changes = random.chance(0.5) ? 1 : random.between(2, 3); changes > 0; --changes) mutate(text, random);
  return text;
}

}  // namespace headlight::test
