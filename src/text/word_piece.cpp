#include "text/word_model.h"

#include "core/error.h"
#include "text/unicode.h"

namespace headlight::text {
namespace {

class WordPiece final : public WordModel {
 public:
  WordPiece(Vocabulary vocabulary, WordPieceOptions options)
      : WordModel(std::move(vocabulary)), options_(std::move(options)) {
    const auto unknown = this->vocabulary().find(options_.unknown);
    if (!unknown) throw Error("the token for unknown words, \"{}\", isn't in the vocabulary", options_.unknown);
    unknown_ = *unknown;
  }

  std::string_view kind() const override { return "WordPiece"; }
  std::optional<std::uint32_t> unknown() const override { return unknown_; }

  void tokenize(std::string_view piece, std::vector<PieceToken>& tokens) const override {
    const std::size_t before = tokens.size();
    const bool fits = count_code_points(piece) <= options_.longest_word;
    if (fits && cut(piece, tokens)) return;
    tokens.resize(before);
    tokens.push_back({unknown_, {0, static_cast<std::uint32_t>(piece.size())}});
  }

 private:
  bool cut(std::string_view piece, std::vector<PieceToken>& tokens) const {
    std::string candidate;
    for (std::size_t begin = 0; begin < piece.size();) {
      candidate = begin > 0 ? options_.continuing_subword_prefix : "";
      const std::size_t prefix = candidate.size();
      candidate += piece.substr(begin);
      std::optional<std::uint32_t> id;
      while (candidate.size() > prefix && !(id = vocabulary().find(candidate))) {
        std::size_t end = candidate.size();
        previous_code_point(candidate, end);
        candidate.resize(end);
      }
      if (!id) return false;
      const std::size_t end = begin + candidate.size() - prefix;
      tokens.push_back({*id, {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)}});
      begin = end;
    }
    return true;
  }

  WordPieceOptions options_;
  std::uint32_t unknown_ = 0;
};

}  // namespace

WordModelPointer make_word_piece(Vocabulary vocabulary, WordPieceOptions options) {
  return std::make_unique<WordPiece>(std::move(vocabulary), std::move(options));
}

}  // namespace headlight::text
