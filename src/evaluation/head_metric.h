#pragma once

#include <cstddef>
#include <cstdint>

namespace headlight::evaluation {

/// What a head does with a text, as a number. Means over the queries, but for the first three, which PatternMeasure
/// defines (TransformerLens' head_detector). A is the head's attention, [query, key].
enum class HeadMetric : std::uint8_t {
  PreviousToken,   ///< of the pattern j = i − 1
  DuplicateToken,  ///< of the pattern j < i, token j = token i
  Induction,  ///< of the pattern 1 ≤ j ≤ i, token j − 1 = token i, j − 1 < i: what followed an earlier occurrence
  Sink,       ///< Aᵢ₀, the weight on the first token
  Concentration,    ///< maxⱼ Aᵢⱼ
  RelativeEntropy,  ///< entropy ÷ ln(visible keys), over the queries that see two keys or more
  Entropy,          ///< −Σⱼ Aᵢⱼ ln Aᵢⱼ in nats
  Distance,         ///< Σⱼ Aᵢⱼ |i − j| in tokens
};
inline constexpr std::size_t kHeadMetrics = 8;
inline constexpr std::size_t kPatternMetrics = 3;  ///< those of a pattern come first

/// Is it the score of a detection pattern?
constexpr bool is_of_pattern(HeadMetric metric) { return static_cast<std::size_t>(metric) < kPatternMetrics; }

/// How a detection pattern D is compared with a head's attention A.
enum class PatternMeasure : std::uint8_t {
  Share,      ///< "mul" of TransformerLens: Σ A∘D / Σ A
  Agreement,  ///< "abs": 1 − Σ |A − D| / n, rounded to three decimals
};

/// Cells that the score of a pattern leaves out on both sides.
struct Exclusions {
  bool first_token = false;    ///< A[·, 0]: the attention sink
  bool current_token = false;  ///< A[i, i]

  bool operator==(const Exclusions&) const = default;
};

/// How patterns are scored.
struct PatternScoring {
  PatternMeasure measure = PatternMeasure::Share;
  Exclusions exclusions = {};

  bool operator==(const PatternScoring&) const = default;
};

}  // namespace headlight::evaluation
