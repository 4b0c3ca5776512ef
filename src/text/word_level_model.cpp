#include "text/word_level_model.h"

#include "core/error.h"

namespace headlight::text {
namespace {

class WordLevel final : public WordModel {
 public:
  WordLevel(Vocabulary vocabulary, std::uint32_t unknown) : WordModel(std::move(vocabulary)), unknown_(unknown) {}

  std::string_view kind() const override { return "WordLevel"; }
  std::optional<std::uint32_t> unknown() const override { return unknown_; }

  void tokenize(std::string_view piece, std::vector<PieceToken>& tokens) const override {
    tokens.push_back({vocabulary().find(piece).value_or(unknown_), {0, static_cast<std::uint32_t>(piece.size())}});
  }

 private:
  std::uint32_t unknown_;
};

}  // namespace

WordModelPointer make_word_level(Vocabulary vocabulary, const std::string& unknown) {
  const auto id = vocabulary.find(unknown);
  if (!id) throw Error("the token for unknown words, \"{}\", isn't in the vocabulary", unknown);
  return std::make_unique<WordLevel>(std::move(vocabulary), *id);
}

}  // namespace headlight::text
