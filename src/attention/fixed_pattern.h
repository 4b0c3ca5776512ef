#pragma once

#include <algorithm>

#include "attention/mask.h"

namespace headlight::attention {

/// An attention pattern that takes the place of the one a head computes. It says which keys a query attends to; the mask
/// still applies, so that a key that the mask hides gets no weight, and a query whose keys are all hidden has a fully masked
/// row. All but Painted give their keys equal weights. The numbers are those of shaders/lib/mask.glsl.
enum class FixedPattern : std::uint8_t {
  Uniform = 1,  ///< every key that the mask shows
  Diagonal,     ///< the query's own position
  Previous,     ///< the position before it; of the first token its own
  First,        ///< the first real token
  Painted,      ///< weights set by hand (ReplacementPattern::weights)
};

/// "uniform", "diagonal", "previous", "first", "painted".
std::string_view to_string(FixedPattern pattern);

inline constexpr float kMaxPatternWeight = 1.0f;  ///< of a painted one, before rows are normalised

/// The pattern of one head.
struct ReplacementPattern {
  FixedPattern kind = FixedPattern::Uniform;
  /// The painted weights of Painted, each 0 … kMaxPatternWeight: a row with paint attends to its painted keys alone, by
  /// these weights divided by their sum over the keys that the mask shows. A row without paint keeps the head's own
  /// pattern.
  NumberRuns weights = {};

  ReplacementPattern() = default;
  ReplacementPattern(FixedPattern fixed) : kind(fixed) {}  // NOLINT: assigned like a FixedPattern
  ReplacementPattern(FixedPattern fixed, NumberRuns painted) : kind(fixed), weights(std::move(painted)) {}
  bool operator==(const ReplacementPattern&) const = default;
};

/// Is the key one of the pattern's? `keys`: those that padding leaves, at least one; positions before them count as the
/// first of them, positions after them as the last.
bool shows(const ReplacementPattern& pattern, std::uint32_t query, std::uint32_t key, KeyRange keys);

/// Returns the number that takes the place of a cell's scaled score: 0 where the pattern is uniform, the logarithm of
/// the painted weight where its row is painted; else the score itself, since the pattern shows one key alone, or
/// doesn't touch the row.
double score_of(const ReplacementPattern& pattern, Cell cell, double score);

}  // namespace headlight::attention
