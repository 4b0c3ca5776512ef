#include "text/label.h"

#include <fmt/format.h>

#include "core/utf8.h"
#include "text/byte_alphabet.h"
#include "text/unicode.h"
#include "text/utf8_repair.h"
#include "text/vocabulary.h"

namespace headlight::text {
namespace {

constexpr char32_t kWordMark = 0x2581;

void append_readable(std::string& label, char32_t c, TokenStringKind kind) {
  if (c == ' ' || (c == kWordMark && kind == TokenStringKind::WordMarks)) {
    label += "·";
  } else if (c == '\n') {
    label += "⏎";
  } else if (c == '\t') {
    label += "⇥";
  } else if (is_other(c) || (c != ' ' && is_white_space(c))) {
    label += fmt::format("\\u{:04X}", static_cast<std::uint32_t>(c));
  } else {
    append_utf8(label, c);
  }
}

/// The sign for a character that goes on in the token before or in the next one. It isn't a digit: in a row of a map,
/// after the token's number and beside a letter that is written from right to left, a digit would read as a part of
/// that number.
constexpr std::string_view kBroken = "¦";

/// The bytes that a token encodes.
std::string bytes_of(std::string_view token_string, TokenStringKind kind) {
  std::string bytes;
  if (kind == TokenStringKind::ByteLetters) {
    append_letter_bytes(bytes, token_string);
  } else if (const int byte = byte_of_token(token_string); byte >= 0) {
    bytes = static_cast<char>(byte);
  } else {
    bytes = token_string;
  }
  return bytes;
}

/// Bytes of consecutive tokens, each with its token's index.
struct TokenBytes {
  std::string bytes;
  std::vector<std::size_t> token;  ///< [byte]
};

TokenBytes gather(std::span<const std::string_view> token_strings, TokenStringKind kind) {
  TokenBytes all;
  for (std::size_t i = 0; i < token_strings.size(); ++i) {
    // A token without bytes adds 0xFF, which is never in UTF-8, to end the character before it.
    all.bytes += token_strings[i].empty() ? std::string(1, '\xFF') : bytes_of(token_strings[i], kind);
    all.token.resize(all.bytes.size(), i);
  }
  return all;
}

}  // namespace

std::vector<std::string> to_labels(std::span<const std::string_view> token_strings, TokenStringKind kind) {
  const TokenBytes all = gather(token_strings, kind);
  std::vector<std::string> labels(token_strings.size());
  std::vector<bool> is_part(token_strings.size());    // of a character split over several tokens
  std::vector<bool> is_broken(token_strings.size());  // has bytes of no complete character
  for (std::size_t at = 0; at < all.bytes.size();) {
    const auto [length, is_valid] = utf8_sequence(all.bytes, at);
    const std::size_t first = all.token[at];
    if (!is_valid) {
      is_broken[first] = true;
      ++at;
      continue;
    }
    std::size_t next = at;
    std::string readable;
    append_readable(readable, next_code_point(all.bytes, next), kind);
    std::size_t parts = 1;
    for (std::size_t i = at + 1; i < at + length; ++i) parts += all.token[i] == all.token[i - 1] ? 0U : 1U;
    if (parts == 1) {
      labels[first] += readable;
    } else {
      for (std::size_t i = at, part = 0; i < at + length; ++i) {
        if (i > at && all.token[i] == all.token[i - 1]) continue;
        ++part;
        is_part[all.token[i]] = true;
        labels[all.token[i]] += fmt::format("{}{}{}", part > 1 ? kBroken : "", readable, part < parts ? kBroken : "");
      }
    }
    at += length;
  }
  for (std::size_t i = 0; i < token_strings.size(); ++i) {
    if (!is_part[i] || is_broken[i]) labels[i] = to_label(token_strings[i], kind);
  }
  return labels;
}

std::string without_parts(std::string_view label) {
  // Only the token's first character may be another token's, and only its last one go on in the next.
  if (label.starts_with(kBroken) && label.size() > kBroken.size()) {
    std::size_t at = kBroken.size();
    next_code_point(label, at);
    label.remove_prefix(at);
    if (label == kBroken) return {};  // the middle of it
  }
  if (label.ends_with(kBroken) && label.size() > kBroken.size()) label.remove_suffix(kBroken.size());
  return std::string(label);
}

std::string to_label(std::string_view token_string, TokenStringKind kind) {
  std::string bytes;
  if (kind == TokenStringKind::ByteLetters) {
    append_letter_bytes(bytes, token_string);
  } else if (const int byte = byte_of_token(token_string); byte >= 0 && byte < 0x80) {
    bytes = static_cast<char>(byte);
  } else {
    bytes = token_string;
  }
  std::string label;
  if (const RepairedUtf8 repaired(bytes); repaired.text() != bytes) {  // part of a character
    for (const char c : bytes) label += fmt::format("\\x{:02X}", static_cast<unsigned char>(c));
    return label;
  }
  for (std::size_t at = 0; at < bytes.size();) append_readable(label, next_code_point(bytes, at), kind);
  return label;
}

}  // namespace headlight::text
