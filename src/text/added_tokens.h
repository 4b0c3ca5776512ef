#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "text/piece.h"
#include "text/prefix_tree.h"
#include "text/stages.h"
#include "text/vocabulary.h"

namespace headlight::text {

/// A token that is found in a text before any other stage splits it.
struct AddedToken {
  std::string content;
  bool single_word = false;   ///< matches only between non-word characters
  bool left_strip = false;    ///< includes the white space before it
  bool right_strip = false;   ///< and after it
  bool is_normalized = true;  ///< its normalized form is found in the normalized text
  bool is_special = false;    ///< decoding without special tokens skips it
};

/// The added tokens of a tokenizer and the stage that finds them. Immutable.
class AddedTokens {
 public:
  /// A token of the vocabulary `model` keeps its id there, another gets the next free one.
  AddedTokens(std::vector<AddedToken> tokens, const Vocabulary& model, const Normalizer& normalizer);

  /// Splits a text at the added tokens and normalizes the text between them.
  std::vector<Piece> extract(std::string_view valid_utf8, const Normalizer& normalizer) const;

  std::optional<std::uint32_t> find(std::string_view content) const;
  /// Null when `id` is no added token's.
  const AddedToken* token(std::uint32_t id) const;
  /// The decoded text of an added token: its normalized form where it has one.
  const std::string& decoded(std::uint32_t id) const { return entries_.at(id).decoded; }
  bool is_special(std::string_view content) const { return special_.contains(std::string(content)); }
  bool is_special(std::uint32_t id) const;
  /// One more than the highest id, 0 when there is none.
  std::uint32_t id_end() const { return id_end_; }

 private:
  struct Entry {
    AddedToken token;
    std::string decoded;
  };
  /// Patterns and the ids of their tokens.
  struct Finder {
    explicit Finder(const std::vector<std::pair<std::string, std::uint32_t>>& patterns);
    std::vector<std::uint32_t> ids;
    PrefixTree tree;
  };
  struct Match {
    ByteRange range;
    std::uint32_t id = 0;
  };

  std::vector<Match> find_matches(std::string_view text, const Finder& finder) const;
  void cut(const NormalizedText& text, const Finder& finder, std::vector<Piece>& pieces) const;

  std::unordered_map<std::uint32_t, Entry> entries_;
  std::unordered_map<std::string, std::uint32_t> ids_;
  std::unordered_set<std::string> special_;
  std::uint32_t id_end_ = 0;
  std::unique_ptr<const Finder> as_typed_, normalized_;
};

}  // namespace headlight::text
