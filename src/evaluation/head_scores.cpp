#include "evaluation/head_scores.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include <fmt/format.h>

namespace headlight::evaluation {
namespace {

bool is_excluded(std::uint32_t query, std::uint32_t key, Exclusions exclusions) {
  return (exclusions.first_token && key == 0) || (exclusions.current_token && key == query);
}

template <typename Visit>
void visit_cells(const WeightMap& map, Exclusions exclusions, const Visit& visit) {
  for (std::uint32_t i = 0; i < map.size; ++i) {
    for (std::uint32_t j = 0; j < map.size; ++j) {
      if (!is_excluded(i, j, exclusions)) visit(map.at(i, j), std::size_t{i} * map.size + j);
    }
  }
}

/// Correctly rounded from the decimal digits, as Python's round() does.
double to_three_decimals(double value) { return std::strtod(fmt::format("{:.3f}", value).c_str(), nullptr); }

/// Mean of A[i, i − offset].
double diagonal_mean(const WeightMap& map, std::uint32_t offset) {
  double sum = 0.0;
  for (std::uint32_t i = offset; i < map.size; ++i) sum += map.at(i, i - offset);
  return sum / (map.size - offset);
}

}  // namespace

std::vector<std::uint8_t> detection_pattern(HeadPattern pattern, std::span<const std::uint32_t> ids) {
  const std::size_t n = ids.size();
  std::vector<std::uint8_t> cells(n * n, 0);
  const auto is_wanted = [&](std::size_t i, std::size_t j) {
    switch (pattern) {
      case HeadPattern::PreviousToken:
        return j + 1 == i;
      case HeadPattern::DuplicateToken:
        return j < i && ids[j] == ids[i];
      case HeadPattern::Induction:
        return j >= 1 && j <= i && ids[j - 1] == ids[i];
    }
    return false;
  };
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) cells[i * n + j] = is_wanted(i, j) ? 1 : 0;
  }
  return cells;
}

double pattern_share(const WeightMap& map, std::span<const std::uint8_t> pattern, Exclusions exclusions) {
  double on_pattern = 0.0, all = 0.0;
  visit_cells(map, exclusions, [&](double weight, std::size_t cell) {
    all += weight;
    on_pattern += pattern[cell] != 0 ? weight : 0.0;
  });
  return all > 0.0 ? on_pattern / all : 0.0;
}

double pattern_agreement(const WeightMap& map, std::span<const std::uint8_t> pattern, Exclusions exclusions) {
  double difference = 0.0;
  visit_cells(map, exclusions,
              [&](double weight, std::size_t cell) { difference += std::abs(weight - static_cast<double>(pattern[cell])); });
  return 1.0 - to_three_decimals(difference / map.size);
}

StripeScores stripe_scores(const WeightMap& map) {
  const std::uint32_t span = map.size / 2;
  return {.previous_token = diagonal_mean(map, 1),
          .duplicate_token = diagonal_mean(map, span),
          .induction = diagonal_mean(map, span - 1)};
}

Spread spread(const WeightMap& map, bool is_causal) {
  Spread sum;
  std::uint32_t choosing_queries = 0;  // a query with one visible key has no choice
  for (std::uint32_t i = 0; i < map.size; ++i) {
    double entropy = 0.0;
    for (std::uint32_t j = 0; j < map.size; ++j) {
      const double weight = map.at(i, j);
      if (weight > 0.0) entropy -= weight * std::log(weight);
      sum.distance += weight * std::abs(static_cast<double>(i) - static_cast<double>(j));
    }
    sum.entropy += entropy;
    sum.sink_share += map.at(i, 0);
    const std::uint32_t visible = is_causal ? i + 1 : map.size;
    if (visible < 2) continue;
    sum.relative_entropy += entropy / std::log(static_cast<double>(visible));
    ++choosing_queries;
  }
  return {.entropy = sum.entropy / map.size,
          .relative_entropy = sum.relative_entropy / std::max(choosing_queries, 1u),
          .sink_share = sum.sink_share / map.size,
          .distance = sum.distance / map.size};
}

}  // namespace headlight::evaluation
