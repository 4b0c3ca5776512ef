#include "text/pipeline.h"

#include <unordered_map>

#include "text/unicode.h"

namespace headlight::text {
namespace {

bool is_space(char32_t c) { return c == U'Ġ' || is_white_space(c); }

std::uint32_t count_leading_spaces(std::string_view token_string) {
  std::uint32_t count = 0;
  for (std::size_t at = 0; at < token_string.size(); ++count) {
    if (!is_space(next_code_point(token_string, at))) break;
  }
  return count;
}

std::uint32_t count_trailing_spaces(std::string_view token_string) {
  std::uint32_t count = 0;
  for (std::size_t at = token_string.size(); at > 0; ++count) {
    if (!is_space(previous_code_point(token_string, at))) break;
  }
  return count;
}

}  // namespace

Tokenizer::Pipeline::Pipeline(Stages parts)
    : stages(std::move(parts)), added(stages.added, stages.model->vocabulary(), stages.normalizer) {
  for (const SpecialTokenRole& role : kSpecialTokenRoles) {
    std::optional<std::uint32_t>& id = special.*role.id;
    if (const auto& named = stages.special.*role.token_string) id = find(*named);
    for (const std::string_view candidate : role.candidates) {
      const std::optional<std::uint32_t> guess = id ? std::nullopt : added.find(candidate);
      if (guess && added.is_special(*guess)) id = guess;
    }
  }
  if (!special.unknown) special.unknown = stages.model->unknown();
}

std::optional<std::string_view> Tokenizer::Pipeline::token_string(std::uint32_t id) const {
  const AddedToken* token = added.token(id);
  return token != nullptr ? token->content : stages.model->vocabulary().token_string(id);
}

std::optional<std::uint32_t> Tokenizer::Pipeline::find(std::string_view token_string) const {
  const std::optional<std::uint32_t> id = added.find(token_string);
  return id ? id : stages.model->vocabulary().find(token_string);
}

Encoding Tokenizer::Pipeline::encode(std::string_view text, std::uint32_t source) const {
  std::vector<Piece> pieces = added.extract(text, stages.normalizer);
  if (stages.pre_tokenizer) stages.pre_tokenizer(pieces);

  Encoding encoding{text, {}};
  const auto push = [&](std::uint32_t id, ByteRange bytes, std::string_view token_string, bool is_special) {
    encoding.tokens.push_back({.id = id,
                               .bytes = bytes,
                               .type = source,
                               .source = source,
                               .leading = count_leading_spaces(token_string),
                               .trailing = count_trailing_spaces(token_string),
                               .is_special = is_special});
  };
  // Words repeat. The cache lives for one text: a tokenizer shared by threads then needs no lock.
  std::unordered_map<std::string_view, std::vector<PieceToken>> known;
  constexpr std::size_t kLongestKnown = 64;
  std::vector<PieceToken> fresh;
  for (const Piece& piece : pieces) {
    const std::string_view word = piece.text.text();
    if (piece.added) {
      const auto end = static_cast<std::uint32_t>(word.size());
      push(*piece.added, piece.text.original({0, end}), word, added.is_special(*piece.added));
      continue;
    }
    const std::vector<PieceToken>* tokens = nullptr;
    if (const auto entry = known.find(word); entry != known.end()) {
      tokens = &entry->second;
    } else {
      fresh.clear();
      stages.model->tokenize(word, fresh);
      tokens = word.size() <= kLongestKnown ? &(known[word] = fresh) : &fresh;
    }
    for (const PieceToken& token : *tokens)
      push(token.id, piece.text.original(token.range), token_string(token.id).value_or(""), added.is_special(token.id));
  }
  return encoding;
}

}  // namespace headlight::text
