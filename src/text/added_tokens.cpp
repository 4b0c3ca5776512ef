#include "text/added_tokens.h"

#include <algorithm>

namespace headlight::text {
namespace {

std::vector<std::string> token_strings(const std::vector<std::pair<std::string, std::uint32_t>>& patterns) {
  std::vector<std::string> list;
  for (const auto& [token_string, id] : patterns) list.push_back(token_string);
  return list;
}

bool ends_in_word(std::string_view text) {
  std::size_t at = text.size();
  return at > 0 && is_word_character(previous_code_point(text, at));
}

bool begins_with_word(std::string_view text) {
  std::size_t at = 0;
  return !text.empty() && is_word_character(next_code_point(text, at));
}

/// Not before `first`.
std::uint32_t skip_white_space_back(std::string_view text, std::uint32_t first, std::uint32_t end) {
  for (std::size_t at = end; at > first;) {
    if (!is_white_space(previous_code_point(text, at))) break;
    end = static_cast<std::uint32_t>(at);
  }
  return end;
}

std::uint32_t skip_white_space(std::string_view text, std::uint32_t begin) {
  for (std::size_t at = begin; at < text.size();) {
    if (!is_white_space(next_code_point(text, at))) break;
    begin = static_cast<std::uint32_t>(at);
  }
  return begin;
}

}  // namespace

AddedTokens::Finder::Finder(const std::vector<std::pair<std::string, std::uint32_t>>& patterns)
    : tree(Vocabulary(token_strings(patterns))) {
  for (const auto& [token_string, id] : patterns) ids.push_back(id);
}

AddedTokens::AddedTokens(std::vector<AddedToken> tokens, const Vocabulary& model, const Normalizer& normalizer) {
  std::uint32_t next = model.size();
  std::vector<std::pair<std::string, std::uint32_t>> as_typed, normalized;
  for (AddedToken& token : tokens) {
    if (token.content.empty()) continue;
    std::optional<std::uint32_t> id = find(token.content);
    if (!id) id = model.find(token.content);
    if (!id) id = next++;
    std::string decoded = token.content;
    if (token.is_normalized && normalizer) {
      NormalizedText text(token.content);
      normalizer(text);
      decoded = text.text();
    }
    ids_[token.content] = *id;
    if (token.is_special) special_.insert(token.content);
    id_end_ = std::max(id_end_, *id + 1);
    entries_[*id] = {std::move(token), std::move(decoded)};
  }
  for (const auto& [id, entry] : entries_)
    (entry.token.is_normalized ? normalized : as_typed).emplace_back(entry.decoded, id);
  as_typed_ = std::make_unique<Finder>(as_typed);
  normalized_ = std::make_unique<Finder>(normalized);
}

std::optional<std::uint32_t> AddedTokens::find(std::string_view content) const {
  const auto entry = ids_.find(std::string(content));
  return entry == ids_.end() ? std::nullopt : std::optional(entry->second);
}

const AddedToken* AddedTokens::token(std::uint32_t id) const {
  const auto entry = entries_.find(id);
  return entry == entries_.end() ? nullptr : &entry->second.token;
}

bool AddedTokens::is_special(std::uint32_t id) const {
  const AddedToken* of = token(id);
  return of != nullptr && of->is_special;
}

std::vector<AddedTokens::Match> AddedTokens::find_matches(std::string_view text, const Finder& finder) const {
  std::vector<Match> matches;
  std::uint32_t free = 0;  // where the last match ended
  for (std::size_t at = 0; at < text.size();) {
    std::size_t length = 0;
    std::uint32_t pattern = 0;
    finder.tree.for_each_prefix(text.substr(at), [&](std::size_t of, std::uint32_t index) {
      length = of;
      pattern = index;
    });
    if (length == 0) {
      ++at;
      continue;
    }
    ByteRange range{static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at + length)};
    at = range.end;
    const std::uint32_t id = finder.ids[pattern];
    const AddedToken& token = entries_.at(id).token;
    if (token.single_word && (ends_in_word(text.substr(0, range.begin)) || begins_with_word(text.substr(range.end))))
      continue;
    if (token.left_strip) range.begin = skip_white_space_back(text, std::min(free, range.begin), range.begin);
    if (token.right_strip) range.end = skip_white_space(text, range.end);
    range.begin = std::max(range.begin, free);
    matches.push_back({range, id});
    free = range.end;
  }
  return matches;
}

void AddedTokens::cut(const NormalizedText& text, const Finder& finder, std::vector<Piece>& pieces) const {
  std::uint32_t at = 0;
  const auto push = [&](ByteRange range, std::optional<std::uint32_t> id) {
    if (range.begin < range.end) pieces.push_back({text.slice(range.begin, range.end), id});
  };
  for (const Match& match : find_matches(text.text(), finder)) {
    push({at, match.range.begin}, std::nullopt);
    push(match.range, match.id);
    at = match.range.end;
  }
  push({at, static_cast<std::uint32_t>(text.text().size())}, std::nullopt);
}

std::vector<Piece> AddedTokens::extract(std::string_view text, const Normalizer& normalizer) const {
  std::vector<Piece> typed, pieces;
  cut(NormalizedText(text), *as_typed_, typed);
  std::size_t bytes = 0;
  for (Piece& piece : typed) {
    if (piece.added) {
      pieces.push_back(std::move(piece));
      continue;
    }
    if (normalizer) normalizer(piece.text);
    bytes += piece.text.text().size();
    piece.text.expect_within_limit(bytes);
    cut(piece.text, *normalized_, pieces);
  }
  return pieces;
}

}  // namespace headlight::text
