#pragma once

#include <string>

#include "text/word_model.h"

namespace headlight::text {

struct WordPieceOptions {
  std::string unknown = "[UNK]";
  std::string continuing_subword_prefix = "##";
  std::size_t longest_word = 100;  ///< characters; a longer piece is unknown
};

/// BERT's WordPiece: the longest token that fits, then the longest behind it, and so on; a piece that can't be spelled to
/// its end is unknown as a whole. Throws Error when the vocabulary lacks the token for unknown pieces.
WordModelPointer make_word_piece(Vocabulary vocabulary, WordPieceOptions options);

}  // namespace headlight::text
