#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

namespace headlight::text {

/// Bytes [begin, end) of the text as typed.
struct ByteRange {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  bool is_empty() const { return begin == end; }
  bool operator==(const ByteRange&) const = default;
};

/// One token of an encoded text.
struct Token {
  std::uint32_t id = 0;
  std::string text;            ///< the token string, as in the vocabulary: "Ġthe", "##ing", "▁the"
  ByteRange bytes = {};        ///< of its sequence; empty for tokens that a template added ([CLS], <s>)
  std::uint32_t sequence = 0;  ///< token type of BERT: 0 for the first text, 1 for the second
  bool is_special = false;     ///< added by the template or typed as a special token
  std::uint32_t source = 0;    ///< the text of a pair that `bytes` belong to, 0 or 1, even without token types

  bool operator==(const Token&) const = default;
};

/// Is a line with these tokens a text? A blank one has at most those that the tokenizer adds around every text.
inline bool has_own_token(std::span<const Token> tokens) {
  return std::ranges::any_of(tokens, [](const Token& token) { return !token.bytes.is_empty(); });
}

}  // namespace headlight::text
