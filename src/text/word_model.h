#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
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

}  // namespace headlight::text
