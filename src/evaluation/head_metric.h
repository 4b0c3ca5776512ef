#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::evaluation {

/// The behaviour of a head with a text, as a number: these are the only definitions of these names, in the window, in
/// surveys and in files. The first three are scores of a detection pattern D (PatternMeasure), the others means over
/// all queries. A is the head's attention, [query, key]; it and the tokens suffice to compute each of them but
/// RelativeEntropy, which knows the mask.
enum class HeadMetric : std::uint8_t {
  PreviousToken,   ///< of the pattern j = i − 1
  DuplicateToken,  ///< of the pattern j < i, token j = token i
  Induction,  ///< of the pattern 1 ≤ j ≤ i, token j − 1 = token i, j − 1 < i: what followed an earlier occurrence
  Sink,       ///< Aᵢ₀, the weight on the first token
  Concentration,    ///< maxⱼ Aᵢⱼ, over the queries that have weights
  RelativeEntropy,  ///< entropy ÷ ln(visible keys), over the queries that see two keys or more
  Entropy,          ///< −Σⱼ Aᵢⱼ ln Aᵢⱼ in nats
  Distance,         ///< Σⱼ Aᵢⱼ |i − j| in tokens
};
inline constexpr std::size_t kHeadMetrics = 8;
inline constexpr std::size_t kPatternMetrics = 3;  ///< those of a pattern come first

/// Returns the metric's name in the window, in flags and in files: "previous", "duplicate", "induction", "sink",
/// "concentration", "evenness", "entropy", "distance".
std::string_view metric_name(HeadMetric metric);
/// Returns the names of all metrics, in the order of HeadMetric.
std::vector<std::string> metric_names();

/// Is it the score of a detection pattern?
constexpr bool is_of_pattern(HeadMetric metric) { return static_cast<std::size_t>(metric) < kPatternMetrics; }

/// The way in which a detection pattern D [query, key] is compared with a head's attention A. A score without another
/// name is Mean; Mul and Abs are TransformerLens' (head_detector.py), and are called so wherever they are shown.
enum class PatternMeasure : std::uint8_t {
  Mean,  ///< the mean, over the queries i with D[i, j] = 1 for any key j, of the weight Σⱼ A∘D; hidden keys have none
  Mul,   ///< Σ A∘D / Σ A
  Abs,   ///< 1 − Σ |A − D| / n, rounded to three decimals
};

/// Cells that Mul and Abs leave out on both sides.
struct Exclusions {
  bool first_token = false;    ///< A[·, 0]: the attention sink
  bool current_token = false;  ///< A[i, i]

  bool operator==(const Exclusions&) const = default;
};

/// The settings by which patterns are scored.
struct PatternScoring {
  PatternMeasure measure = PatternMeasure::Mean;
  Exclusions exclusions = {};  ///< of Mul and Abs

  bool operator==(const PatternScoring&) const = default;
};

/// Attention weights of one head: A[i, j] of query i and key j, row-major [n, n], n ≥ 1; of cross-attention [n, sources].
struct WeightMap {
  std::span<const double> weights;              ///< [n, keys()]
  std::uint32_t size = 0;                       ///< n
  std::span<const std::uint32_t> visible = {};  ///< [n] how many keys the mask shows to each query
  std::uint32_t sources = 0;                    ///< tokens of the other text, of cross-attention; else 0

  bool is_cross() const { return sources > 0; }
  std::uint32_t keys() const { return is_cross() ? sources : size; }
  std::span<const double> row(std::uint32_t query) const { return weights.subspan(std::size_t{query} * keys(), keys()); }
  double at(std::uint32_t query, std::uint32_t key) const { return weights[std::size_t{query} * keys() + key]; }
};

/// Means along three diagonals, for S random tokens repeated once (n = 2 S, no begin token), where a token alone doesn't
/// predict the next (Olsson et al. 2022, "In-context Learning and Induction Heads"; TransformerLens' demonstrations). They
/// are called stripes where they are shown: unlike metrics (head_metric.h), they know nothing of tokens that come twice by
/// chance.
struct StripeScores {
  double previous_token = 0.0;   ///< mean of A[i, i − 1]
  double duplicate_token = 0.0;  ///< mean of A[i, i − S]
  double induction = 0.0;        ///< mean of A[i, i − (S − 1)]
};
/// `map.size` must be even and at least 2.
StripeScores stripe_scores(const WeightMap& map);

}  // namespace headlight::evaluation
