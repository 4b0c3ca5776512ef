#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace headlight::evaluation {

/// Attention weights of one head: A[i, j] of query i and key j, row-major [n, n], n ≥ 1.
struct WeightMap {
  std::span<const double> weights;  ///< [n, n]
  std::uint32_t size = 0;           ///< n

  double at(std::uint32_t query, std::uint32_t key) const { return weights[std::size_t{query} * size + key]; }
};

/// Detection patterns of a head (TransformerLens' head_detector).
enum class HeadPattern : std::uint8_t {
  PreviousToken,   ///< D[i, j] = 1 where j = i − 1
  DuplicateToken,  ///< D[i, j] = 1 where j < i and token j = token i
  Induction,  ///< D[i, j] = 1 where 1 ≤ j ≤ i and token j − 1 = token i, j − 1 < i: the token after an earlier one
};

/// D as 0 and 1 [n, n] for these tokens, the begin token included.
std::vector<std::uint8_t> detection_pattern(HeadPattern pattern, std::span<const std::uint32_t> ids);

/// Cells that a score leaves out on both sides.
struct Exclusions {
  bool first_token = false;    ///< A[·, 0]: the attention sink
  bool current_token = false;  ///< A[i, i]
};

/// "mul" of TransformerLens' detect_head: Σ A∘D / Σ A, the share of the attention that follows the pattern. 0 where
/// exclusions leave no attention.
double pattern_share(const WeightMap& map, std::span<const std::uint8_t> pattern, Exclusions exclusions = {});

/// "abs" of TransformerLens' detect_head: 1 − Σ |A − D| / n, the difference rounded to three decimals; at most 1, and
/// negative for a head that differs much. Exclusions don't change n.
double pattern_agreement(const WeightMap& map, std::span<const std::uint8_t> pattern, Exclusions exclusions = {});

/// Means along three diagonals, for S random tokens repeated once (n = 2 S, no begin token), where a token alone doesn't
/// predict the next (Olsson et al. 2022, "In-context Learning and Induction Heads"; TransformerLens' demonstrations).
struct StripeScores {
  double previous_token = 0.0;   ///< mean of A[i, i − 1]
  double duplicate_token = 0.0;  ///< mean of A[i, i − S]
  double induction = 0.0;        ///< mean of A[i, i − (S − 1)]
};
/// `map.size` must be even and at least 2.
StripeScores stripe_scores(const WeightMap& map);

/// Statistics of a head's attention, independent of a pattern; each a mean over the queries i.
struct Spread {
  double entropy = 0.0;           ///< −Σⱼ Aᵢⱼ ln Aᵢⱼ in nats
  double relative_entropy = 0.0;  ///< the same ÷ ln(visible keys), over queries that see two keys or more
  double sink_share = 0.0;        ///< Aᵢ₀
  double distance = 0.0;          ///< Σⱼ Aᵢⱼ |i − j| in tokens
};
/// A causal map's query i sees i + 1 keys, another's n.
Spread spread(const WeightMap& map, bool is_causal);

}  // namespace headlight::evaluation
