#include "text/renumbered_model.h"

namespace headlight::text {
namespace {

class RenumberedModel final : public WordModel {
 public:
  RenumberedModel(WordModelPointer model, Vocabulary vocabulary, std::uint32_t unknown)
      : WordModel(std::move(vocabulary)), model_(std::move(model)), unknown_(unknown) {
    const Vocabulary& old = model_->vocabulary();
    for (std::uint32_t id = 0; id < old.id_end(); ++id)
      ids_.push_back(this->vocabulary().find(old.spelling(id).value_or("")).value_or(unknown));
  }

  std::string_view kind() const override { return model_->kind(); }
  std::optional<std::uint32_t> unknown() const override { return unknown_; }

  void tokenize(std::string_view piece, std::vector<PieceToken>& tokens) const override {
    const std::size_t first = tokens.size();
    model_->tokenize(piece, tokens);
    for (std::size_t i = first; i < tokens.size(); ++i) tokens[i].id = ids_[tokens[i].id];
  }

 private:
  WordModelPointer model_;
  std::vector<std::uint32_t> ids_;  ///< [id of the model]
  std::uint32_t unknown_;
};

}  // namespace

WordModelPointer make_renumbered_model(WordModelPointer model, Vocabulary vocabulary, std::uint32_t unknown) {
  return std::make_unique<RenumberedModel>(std::move(model), std::move(vocabulary), unknown);
}

}  // namespace headlight::text
