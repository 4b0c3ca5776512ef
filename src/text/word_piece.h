#pragma once

#include <string>

#include "text/word_model.h"

namespace headlight::text {

struct WordPieceOptions {
  std::string unknown = "[UNK]";
  std::string continuing_subword_prefix = "##";
  std::size_t longest_word = 100;  ///< characters; a longer piece is unknown
};

/// BERT's WordPiece: the longest matching token, then the longest one after it, and so on; a piece whose tail matches no
/// token is unknown as a whole. Throws Error when the vocabulary lacks the token for unknown pieces.
WordModelPointer make_word_piece(Vocabulary vocabulary, WordPieceOptions options);

}  // namespace headlight::text
