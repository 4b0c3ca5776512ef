#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/tokenizer.h"
#include "text/vocabulary.h"

namespace headlight::text {

/// A token inside a piece: its id and its byte range in the piece's text.
struct PieceToken {
  std::uint32_t id = 0;
  ByteRange range;
};

/// The third stage of a tokenizer: finds a piece's tokens. Immutable.
class WordModel {
 public:
  explicit WordModel(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}
  virtual ~WordModel() = default;
  WordModel(const WordModel&) = delete;
  WordModel& operator=(const WordModel&) = delete;

  /// Appends the tokens of a non-empty piece.
  virtual void tokenize(std::string_view piece, std::vector<PieceToken>& tokens) const = 0;
  /// "BPE", "WordPiece", "Unigram", "WordLevel".
  virtual std::string_view kind() const = 0;
  /// The token for pieces that the vocabulary doesn't cover.
  virtual std::optional<std::uint32_t> unknown() const = 0;

  const Vocabulary& vocabulary() const { return vocabulary_; }

 private:
  Vocabulary vocabulary_;
};

using WordModelPointer = std::unique_ptr<const WordModel>;

struct BpeOptions {
  std::optional<std::string> unknown = {};     ///< token for characters that aren't in the vocabulary
  std::string continuing_subword_prefix = {};  ///< in front of every character of a piece but the first
  std::string end_of_word_suffix = {};         ///< after the last character
  bool fuses_unknown = false;
  bool falls_back_to_bytes = false;  ///< unknown characters as tokens "<0xE2>" of their bytes
  bool ignores_merges = false;       ///< a piece that is in the vocabulary is one token, whatever the merges say
  bool ranks_by_id = false;          ///< a merge's rank is the id of the token that it makes, as in tiktoken
};

/// Pairs of token strings that merge into one token, by rank: the first is merged first.
using Merges = std::vector<std::pair<std::string, std::string>>;

/// Byte-pair encoding (Sennrich et al. 2016): joins neighbours by the lowest rank until no merge is left.
/// Throws Error naming a merge whose parts or whole aren't in the vocabulary.
WordModelPointer make_bpe(Vocabulary vocabulary, const Merges& merges, BpeOptions options);

struct WordPieceOptions {
  std::string unknown = "[UNK]";
  std::string continuing_subword_prefix = "##";
  std::size_t longest_word = 100;  ///< characters; a longer piece is unknown
};

/// BERT's WordPiece: the longest matching token, then the longest one after it, and so on; a piece whose tail matches no
/// token is unknown as a whole. Throws Error when the vocabulary lacks the token for unknown pieces.
WordModelPointer make_word_piece(Vocabulary vocabulary, WordPieceOptions options);

/// Token strings and the logarithms of their probabilities: [id].
using ScoredTokens = std::vector<std::pair<std::string, double>>;

/// The unigram language model (Kudo 2018): the segmentation of a piece with the highest sum of scores, found by Viterbi's
/// algorithm. An unknown character costs 10 more than the lowest score; unknown neighbours are one token, or one for each
/// byte when `falls_back_to_bytes`. Without `unknown`, characters without a token are left out.
/// Throws Error when `unknown` isn't an id of the vocabulary.
WordModelPointer make_unigram(ScoredTokens tokens, std::optional<std::uint32_t> unknown, bool falls_back_to_bytes);

}  // namespace headlight::text
