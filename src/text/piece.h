#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "text/normalized_text.h"

namespace headlight::text {

/// A part of a text on its way to tokens: a word that a model will cut further, or an added token.
struct Piece {
  NormalizedText text;
  std::optional<std::uint32_t> added;  ///< id of the added token that it is
};

/// What happens to the matches of a delimiter when a text is cut at them.
enum class SplitBehavior { Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous };

/// A stretch of a text between two cuts.
struct Stretch {
  ByteRange range;
  bool is_match = false;
};

/// The text as stretches that are matches and those between them.
std::vector<Stretch> to_stretches(const std::vector<ByteRange>& matches, std::size_t text_size);
/// The characters for which `is_match` holds, one stretch each, and the stretches between them.
template <typename IsMatch>
std::vector<Stretch> find_stretches(std::string_view text, IsMatch is_match);

/// Appends the parts of `text`, empty ones left out.
void split(const NormalizedText& text, std::vector<Stretch> stretches, SplitBehavior behavior, std::vector<Piece>& pieces);

template <typename IsMatch>
std::vector<Stretch> find_stretches(std::string_view text, IsMatch is_match) {
  std::vector<ByteRange> matches;
  for (std::size_t at = 0; at < text.size();) {
    const auto begin = static_cast<std::uint32_t>(at);
    if (is_match(next_code_point(text, at))) matches.push_back({begin, static_cast<std::uint32_t>(at)});
  }
  return to_stretches(matches, text.size());
}

}  // namespace headlight::text
