#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "text/normalized_text.h"

namespace headlight::text {

/// A part of a text: a word that the model will split into tokens, or an added token.
struct Piece {
  NormalizedText text;
  std::optional<std::uint32_t> added;  ///< id of the added token that it is
};

/// The fate of a delimiter's matches when a text is split at them.
enum class SplitBehavior { Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous };

/// A span of a text that is split: a match of the delimiter, or the text between two matches.
struct TextSpan {
  ByteRange range;
  bool is_match = false;
};

/// The whole text as spans: matches and the text between them.
std::vector<TextSpan> to_spans(const std::vector<ByteRange>& matches, std::size_t text_size);
/// The characters for which `is_match` holds, one span each, and the spans between them.
template <typename IsMatch>
std::vector<TextSpan> find_spans(std::string_view text, IsMatch is_match);

/// Appends the parts of `text`, empty ones left out.
void split(const NormalizedText& text, std::vector<TextSpan> spans, SplitBehavior behavior, std::vector<Piece>& pieces);

template <typename IsMatch>
std::vector<TextSpan> find_spans(std::string_view text, IsMatch is_match) {
  std::vector<ByteRange> matches;
  for (std::size_t at = 0; at < text.size();) {
    const auto begin = static_cast<std::uint32_t>(at);
    if (is_match(next_code_point(text, at))) matches.push_back({begin, static_cast<std::uint32_t>(at)});
  }
  return to_spans(matches, text.size());
}

}  // namespace headlight::text
