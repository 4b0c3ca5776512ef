#include "capture/token_spelling.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "core/utf8.h"
#include "text/byte_alphabet.h"
#include "text/label.h"
#include "text/unicode.h"

namespace headlight::capture {
namespace {

/// Bytes of a token's label that are kept.
constexpr std::size_t kLongestLabel = 256;
constexpr std::string_view kWordMark = "▁", kContinuation = "##";

/// What tokenizers add around texts. Others are spelled in the same way, such as "<|endoftext|>".
constexpr std::array<std::string_view, 10> kSpecialTokens = {"<s>",   "</s>",  "<pad>", "<mask>", "<bos>",
                                                             "<eos>", "[CLS]", "[SEP]", "[PAD]",  "[MASK]"};

bool is_special(std::string_view token) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kFrames = {{{"<|", "|>"}, {"<｜", "｜>"}}};
  return std::ranges::find(kSpecialTokens, token) != kSpecialTokens.end() ||
         std::ranges::any_of(kFrames, [&](const auto& frame) {
           return token.size() > frame.first.size() + frame.second.size() && token.starts_with(frame.first) &&
                  token.ends_with(frame.second);
         });
}

/// Is it UTF-8, but for characters of which the beginning or the end was cut off?
bool is_cut_from_utf8(std::string_view bytes) {
  constexpr std::size_t kMostContinuations = 3;
  std::size_t at = 0;
  const auto is_continuation = [&] { return (static_cast<unsigned char>(bytes[at]) & 0xC0U) == 0x80U; };
  while (at < std::min(bytes.size(), kMostContinuations) && is_continuation()) ++at;
  while (at < bytes.size()) {
    const Utf8Sequence sequence = utf8_sequence(bytes, at);
    at += sequence.length;
    if (!sequence.is_valid && at < bytes.size()) return false;
  }
  return true;
}

/// Has it a letter of the alphabet that stands for another byte than its own?
bool has_letter(std::string_view token) {
  constexpr char32_t kFirstLetter = 0x100;
  for (std::size_t at = 0; at < token.size();) {
    if (text::next_code_point(token, at) >= kFirstLetter) return true;
  }
  return false;
}

bool are_byte_letters(std::span<const std::vector<std::string>> lines) {
  bool has_any = false;
  for (const std::vector<std::string>& line : lines) {
    std::string bytes;
    for (const std::string& token : line) {
      if (is_special(token)) {  // nothing goes on across one
        if (!is_cut_from_utf8(bytes)) return false;
        bytes.clear();
        continue;
      }
      if (!text::append_letter_bytes(bytes, token)) return false;
      has_any = has_any || has_letter(token);
    }
    if (!is_cut_from_utf8(bytes)) return false;
  }
  return has_any;
}

bool goes_on(std::string_view piece) { return piece.size() > kContinuation.size() && piece.starts_with(kContinuation); }

bool any_begins(std::span<const std::vector<std::string>> lines, std::string_view mark) {
  return std::ranges::any_of(lines, [&](const auto& line) {
    return std::ranges::any_of(line, [&](const std::string& token) { return token.starts_with(mark); });
  });
}

text::TokenStringKind kind_of(Spelling spelling) {
  return spelling == Spelling::ByteLetters ? text::TokenStringKind::ByteLetters
         : spelling == Spelling::WordMarks ? text::TokenStringKind::WordMarks
                                           : text::TokenStringKind::Plain;
}

}  // namespace

Spelling spelling_of(std::span<const std::vector<std::string>> lines) {
  if (are_byte_letters(lines)) return Spelling::ByteLetters;
  if (any_begins(lines, kWordMark)) return Spelling::WordMarks;
  if (any_begins(lines, kContinuation)) return Spelling::WordPieces;
  return any_begins(lines, " ") ? Spelling::Spaces : Spelling::Words;
}

SpelledLine spell(std::span<const std::string> line, Spelling spelling) {
  SpelledLine spelled;
  std::vector<std::string_view> strings;
  const bool has_spaces = spelling == Spelling::Words || spelling == Spelling::WordPieces;  // between all tokens
  std::uint32_t at = 0;
  for (const std::string& token : line) {
    const bool is_added = is_special(token);
    strings.push_back(is_added ? std::string_view() : token);
    if (has_spaces && !goes_on(token)) ++at;
    const auto end = is_added ? at : at + static_cast<std::uint32_t>(token.size());
    spelled.tokens.push_back({.text = token, .bytes = {.begin = at, .end = end}, .is_special = is_added});
    at = end;
  }
  if (!has_spaces) spelled.labels = text::to_labels(strings, kind_of(spelling));
  spelled.labels.resize(line.size());
  for (std::size_t i = 0; i < line.size(); ++i) {
    spelled.labels[i] = one_line(has_spaces || strings[i].empty() ? line[i] : spelled.labels[i], kLongestLabel);
  }
  return spelled;
}

}  // namespace headlight::capture
