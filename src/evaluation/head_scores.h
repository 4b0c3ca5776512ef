#pragma once

#include <cstdint>
#include <span>

namespace headlight::evaluation {

/// Attention weights of one head: A[i, j] of query i and key j, row-major [n, n], n ≥ 1.
struct WeightMap {
  std::span<const double> weights;              ///< [n, n]
  std::uint32_t size = 0;                       ///< n
  std::span<const std::uint32_t> visible = {};  ///< [n] how many keys the mask shows to each query

  double at(std::uint32_t query, std::uint32_t key) const { return weights[std::size_t{query} * size + key]; }
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
