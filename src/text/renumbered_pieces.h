#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "text/folder_notes.h"
#include "text/sentence_piece_file.h"
#include "text/word_model.h"

namespace headlight::text {

/// A vocabulary whose ids are not those of its SentencePiece model: fairseq puts four tokens of its own before the model's
/// pieces and some after them, Pegasus a hundred before.
struct RenumberedPieces {
  ScoredTokens tokens;  ///< [id]
  std::uint32_t unknown = 0;
  std::vector<AddedToken> added;  ///< special tokens that are found in the text as typed
  SpecialTokenStrings special;
  std::vector<std::string> before = {}, after = {};  ///< special tokens around one text
  std::vector<std::string> between = {};             ///< special tokens between the texts of a pair
  bool cuts_at_spaces = false;                       ///< at any white space, before the word marks do
};

/// The vocabulary as `transformers` numbers it for XLM-RoBERTa, CamemBERT, mBART, mBART-50, Pegasus, XGLM and NLLB; nullopt
/// for classes that keep the model's ids. Throws Error for a class of unknown numbering and for a language that mBART lacks.
std::optional<RenumberedPieces> renumber(const SentencePieceFile& model, const FolderNotes& notes);

}  // namespace headlight::text
