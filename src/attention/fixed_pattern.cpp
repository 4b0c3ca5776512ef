#include "attention/fixed_pattern.h"

#include <array>
#include <cmath>

namespace headlight::attention {
std::string_view to_string(FixedPattern pattern) {
  constexpr std::array<std::string_view, 5> kNames = {"uniform", "diagonal", "previous", "first", "painted"};
  return kNames[static_cast<std::size_t>(pattern) - 1];
}

bool shows(const ReplacementPattern& pattern, std::uint32_t query, std::uint32_t key, KeyRange keys) {
  if (pattern.kind == FixedPattern::Uniform) return true;
  if (pattern.kind == FixedPattern::Painted) {
    return !pattern.weights.has_row(query) || pattern.weights.state({query, key}).value_or(0.0f) > 0.0f;
  }
  std::uint32_t position = 0;
  if (pattern.kind == FixedPattern::Diagonal) position = query;
  if (pattern.kind == FixedPattern::Previous) position = query - std::min(query, 1U);
  return key == std::max(keys.begin, std::min(position, keys.end - 1));
}

double score_of(const ReplacementPattern& pattern, Cell cell, double score) {
  if (pattern.kind == FixedPattern::Uniform) return 0.0;
  if (pattern.kind != FixedPattern::Painted || !pattern.weights.has_row(cell.query)) return score;
  const float weight = pattern.weights.state(cell).value_or(0.0f);
  // A cell without a weight is hidden, so its score counts nowhere.
  return weight > 0.0f ? std::log(static_cast<double>(weight)) : 0.0;
}

}  // namespace headlight::attention
