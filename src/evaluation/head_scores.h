#pragma once

#include <cstdint>
#include <span>

namespace headlight::evaluation {

/// Attention weights of one head: A[i, j] of query i and key j, row-major [n, n], n ≥ 1.
struct WeightMap {
  std::span<const double> weights;  ///< [n, n]
  std::uint32_t size = 0;           ///< n

  double at(std::uint32_t query, std::uint32_t key) const { return weights[std::size_t{query} * size + key]; }
};

/// Means along three diagonals, for S random tokens repeated once (n = 2 S, no begin token), where a token alone doesn't
/// predict the next (Olsson et al. 2022, "In-context Learning and Induction Heads"; TransformerLens' demonstrations).
struct StripeScores {
  double previous_token = 0.0;   ///< mean of A[i, i − 1]
  double duplicate_token = 0.0;  ///< mean of A[i, i − S]
  double induction = 0.0;        ///< mean of A[i, i − (S − 1)]
};
/// `map.size` must be even and at least 2.
StripeScores stripe_scores(const WeightMap& map);

}  // namespace headlight::evaluation
