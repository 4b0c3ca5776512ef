#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "attention/mask.h"

namespace headlight::attention {

/// An attention pattern that takes the place of the one a head computes. It says which keys a query attends to, all of them
/// alike; the mask still applies, so that a key that the mask hides gets no weight, and a query whose keys are all hidden
/// has a fully masked row. The numbers are those of shaders/lib/mask.glsl.
enum class FixedPattern : std::uint8_t {
  Uniform = 1,  ///< every key that the mask shows
  Diagonal,     ///< the query's own position
  Previous,     ///< the position before it; of the first token its own
  First,        ///< the first real token
};

/// "uniform", "diagonal", "previous", "first".
std::string_view to_string(FixedPattern pattern);
std::optional<FixedPattern> parse_fixed_pattern(std::string_view text);

/// Is the key one of the pattern's? `keys`: those that padding leaves, at least one; positions before them count as the
/// first of them, positions behind them as the last.
constexpr bool shows(FixedPattern pattern, std::uint32_t query, std::uint32_t key, KeyRange keys) {
  if (pattern == FixedPattern::Uniform) return true;
  std::uint32_t position = 0;
  if (pattern == FixedPattern::Diagonal) position = query;
  if (pattern == FixedPattern::Previous) position = query - std::min(query, 1U);
  return key == std::max(keys.begin, std::min(position, keys.end - 1));
}

}  // namespace headlight::attention
