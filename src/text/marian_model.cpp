#include "text/word_model.h"

#include <algorithm>

#include <sentencepiece_processor.h>

#include "text/sentence_piece_file.h"

namespace headlight::text {
namespace {

class MarianModel final : public WordModel {
 public:
  MarianModel(const std::string& serialized, Vocabulary vocabulary, std::uint32_t unknown)
      : WordModel(std::move(vocabulary)), unknown_(unknown) {
    load_sentence_piece(serialized, processor_);
  }

  std::string_view kind() const override { return "Unigram"; }
  std::optional<std::uint32_t> unknown() const override { return unknown_; }

  void tokenize(std::string_view text, std::vector<PieceToken>& tokens) const override {
    const auto encoded = processor_.EncodeAsImmutableProto({text.data(), text.size()});
    for (std::size_t i = 0; i < encoded.pieces_size(); ++i) {
      const auto piece = encoded.pieces(static_cast<int>(i));
      tokens.push_back({vocabulary().find(piece.piece()).value_or(unknown_), {piece.begin(), piece.end()}});
    }
  }

 private:
  sentencepiece::SentencePieceProcessor processor_;
  std::uint32_t unknown_;
};

}  // namespace

WordModelPointer make_marian_model(const std::string& serialized, Vocabulary vocabulary, std::uint32_t unknown) {
  return std::make_unique<MarianModel>(serialized, std::move(vocabulary), unknown);
}

}  // namespace headlight::text
