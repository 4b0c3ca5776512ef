#pragma once

#include <span>
#include <string>
#include <vector>

#include "text/token.h"

namespace headlight::capture {

/// How a capture's tokens spell spaces and bytes.
enum class Spelling : std::uint8_t {
  Words,        ///< plain texts, each a word: "the", "cat"
  Spaces,       ///< decoded texts: " cat" begins a word, "s" goes on
  ByteLetters,  ///< GPT-2's alphabet: "Ġcat", "Ċ", "Ã©"
  WordMarks,    ///< SentencePiece: "▁cat", "<0x0A>"
  WordPieces,   ///< BERT: "cat", "##s"
};

/// Of all lines of a side. Byte letters are told by what they decode to: UTF-8, but for characters cut off at a line's ends.
Spelling spelling_of(std::span<const std::vector<std::string>> lines);

/// The tokens of a line as a model's tokenizer would give them, and their labels (text/label.h).
struct SpelledLine {
  std::vector<text::Token> tokens;  ///< with byte ranges that tell which go on where the one before ends; no ids
  std::vector<std::string> labels;  ///< each printable, in one line
};
SpelledLine spell(std::span<const std::string> line, Spelling spelling);

}  // namespace headlight::capture
