#pragma once

#include <cstddef>

#include "app/engine/token_words.h"
#include "chart/viewport.h"

namespace headlight::app {

/// A token as part of a running text.
struct RunningToken {
  TokenPlace place;
  bool ends_line = false;  ///< it ends with a newline
  /// Its label where it is a part of a character, "語¦" or "¦語"; empty for others. `place.text` has the whole character in
  /// the first part, and nothing in the others.
  std::string part = {};

  bool operator==(const RunningToken&) const = default;
};

/// The tokens of a line of the batch; parameters as of token_places().
std::vector<RunningToken> running_tokens(std::span<const std::string> labels, std::span<const text::Token> tokens,
                                         std::uint32_t start);

/// How tokens become lines. UI units.
struct TextMeasures {
  float width = 0.0F;        ///< of a line, at least 1
  float line_height = 0.0F;  ///< from one line to the next
  float token_height = 0.0F;
  float space = 0.0F;    ///< before a word
  float padding = 0.0F;  ///< of a token, left and right
  bool is_right_to_left = false;
};

/// Tokens in lines, from the upper left corner of the text.
struct TextLines {
  std::vector<chart::Rect> tokens;      ///< [token]; none overlaps another, none is wider than the lines
  std::vector<std::uint32_t> line_of;   ///< [token], ascending
  std::vector<std::uint32_t> first_of;  ///< [line + 1]: its first token; the last one is the number of tokens
  float height = 0.0F;                  ///< of all lines

  /// Tokens of the lines that are at least in part between two heights: [begin, end).
  struct Part {
    std::uint32_t begin = 0, end = 0;
  };
  Part between(float top, float bottom, float line_height) const;
};

/// `widths`: [token] of their texts. A word that fits into a line is never broken, a token never is: one that is wider than
/// a line becomes as wide as it.
TextLines lay_out_text(std::span<const RunningToken> tokens, std::span<const float> widths, const TextMeasures& measures);

/// A number over a token.
struct PlacedNumber {
  std::uint32_t token = 0;
  float x = 0.0F;  ///< of its left end
};

/// Which of some tokens of one line have room for their number: centred over the token, or at least with their middle over
/// it, inside the line, `gap` apart. The largest come first; `least` and below have none. `values` and `widths` of the
/// numbers' texts are [token of all].
std::vector<PlacedNumber> place_numbers(const TextLines& lines, std::uint32_t line, std::span<const float> values,
                                        std::span<const float> widths, float line_width, float gap, float least);

}  // namespace headlight::app
