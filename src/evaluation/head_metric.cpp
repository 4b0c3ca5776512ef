#include "evaluation/head_metric.h"

namespace headlight::evaluation {
namespace {

/// Mean of A[i, i − offset].
double diagonal_mean(const WeightMap& map, std::uint32_t offset) {
  double sum = 0.0;
  for (std::uint32_t i = offset; i < map.size; ++i) sum += map.at(i, i - offset);
  return sum / (map.size - offset);
}

}  // namespace

StripeScores stripe_scores(const WeightMap& map) {
  const std::uint32_t span = map.size / 2;
  return {.previous_token = diagonal_mean(map, 1),
          .duplicate_token = diagonal_mean(map, span),
          .induction = diagonal_mean(map, span - 1)};
}

}  // namespace headlight::evaluation
