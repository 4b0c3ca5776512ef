// Head scores against TransformerLens' definitions, by hand.
#include <cmath>
#include <numeric>

#include <doctest/doctest.h>

#include "evaluation/batches.h"
#include "evaluation/head_scores.h"

using namespace headlight;
using namespace headlight::evaluation;

namespace {

constexpr Exclusions kNone = {};
constexpr Exclusions kFirst = {.first_token = true};
constexpr Exclusions kCurrent = {.current_token = true};
constexpr Exclusions kBoth = {.first_token = true, .current_token = true};

std::vector<double> uniform_causal(std::uint32_t n) {
  std::vector<double> weights(std::size_t{n} * n, 0.0);
  for (std::uint32_t i = 0; i < n; ++i) {
    for (std::uint32_t j = 0; j <= i; ++j) weights[i * n + j] = 1.0 / (i + 1);
  }
  return weights;
}

/// Cells (query, key) of a pattern.
std::vector<std::pair<std::size_t, std::size_t>> cells_of(HeadPattern pattern, const std::vector<std::uint32_t>& ids) {
  const std::vector<std::uint8_t> cells = detection_pattern(pattern, ids);
  std::vector<std::pair<std::size_t, std::size_t>> set;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i] != 0) set.emplace_back(i / ids.size(), i % ids.size());
  }
  return set;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a previous-token head of four tokens, by both measures and all exclusions") {
    const std::vector<double> weights = {1.0, 0.0, 0.0, 0.0, 0.5, 0.5, 0.0, 0.0, 0.2, 0.3, 0.5, 0.0, 0.1, 0.15, 0.5, 0.25};
    const WeightMap map{weights, 4};
    const std::vector<std::uint8_t> pattern = detection_pattern(HeadPattern::PreviousToken, std::vector{7u, 8u, 9u, 10u});
    const auto four_decimals = [](double value) { return std::round(value * 1e4) / 1e4; };
    CHECK(four_decimals(pattern_share(map, pattern, kNone)) == 0.3250);
    CHECK(four_decimals(pattern_share(map, pattern, kFirst)) == 0.3636);
    CHECK(four_decimals(pattern_share(map, pattern, kCurrent)) == 0.7429);
    CHECK(four_decimals(pattern_share(map, pattern, kBoth)) == 0.8421);
    CHECK(pattern_agreement(map, pattern, kNone) == doctest::Approx(-0.100).epsilon(1e-12));
    CHECK(pattern_agreement(map, pattern, kFirst) == doctest::Approx(0.350).epsilon(1e-12));
    CHECK(pattern_agreement(map, pattern, kCurrent) == doctest::Approx(0.463).epsilon(1e-12));
    CHECK(pattern_agreement(map, pattern, kBoth) == doctest::Approx(0.662).epsilon(1e-12));
  }

  TEST_CASE("patterns of a repeated sequence") {
    using Cells = std::vector<std::pair<std::size_t, std::size_t>>;
    const std::vector<std::uint32_t> ids = {0, 11, 12, 13, 11, 12, 13};
    CHECK(cells_of(HeadPattern::PreviousToken, ids) == Cells{{1, 0}, {2, 1}, {3, 2}, {4, 3}, {5, 4}, {6, 5}});
    CHECK(cells_of(HeadPattern::DuplicateToken, ids) == Cells{{4, 1}, {5, 2}, {6, 3}});
    CHECK(cells_of(HeadPattern::Induction, ids) == Cells{{4, 2}, {5, 3}, {6, 4}});
    CHECK(cells_of(HeadPattern::Induction, {5, 5}) == Cells{{1, 1}});  // an immediate repeat sets the diagonal
    const std::vector<double> weights = uniform_causal(7);
    const WeightMap map{weights, 7};
    const auto share = [&](HeadPattern pattern) {
      return std::round(pattern_share(map, detection_pattern(pattern, ids)) * 1e4) / 1e4;
    };
    CHECK(share(HeadPattern::PreviousToken) == 0.2276);
    CHECK(share(HeadPattern::DuplicateToken) == 0.0728);
    CHECK(share(HeadPattern::Induction) == 0.0728);
  }

  TEST_CASE("scores are 0 when all cells are excluded") {
    const std::vector<double> weights = {1.0};
    const std::vector<std::uint8_t> pattern = {0};
    CHECK(pattern_share({weights, 1}, pattern, kBoth) == 0.0);
    CHECK(pattern_agreement({weights, 1}, pattern, kBoth) == 1.0);
  }

  TEST_CASE("stripes are means along diagonals of a repeated sequence") {
    // S = 3: the previous token gets (i + 1) / 100, the same one S before i / 10, the one after that 1 / (i + 1).
    std::vector<double> weights(36, 0.0);
    for (std::size_t i = 1; i < 6; ++i) weights[i * 6 + i - 1] = static_cast<double>(i + 1) / 100.0;
    for (std::size_t i = 3; i < 6; ++i) weights[i * 6 + i - 3] = static_cast<double>(i) / 10.0;
    for (std::size_t i = 2; i < 6; ++i) weights[i * 6 + i - 2] = 1.0 / static_cast<double>(i + 1);
    const StripeScores stripes = stripe_scores({weights, 6});
    CHECK(stripes.previous_token == doctest::Approx((0.02 + 0.03 + 0.04 + 0.05 + 0.06) / 5.0).epsilon(1e-12));
    CHECK(stripes.duplicate_token == doctest::Approx(0.4).epsilon(1e-12));
    CHECK(stripes.induction == doctest::Approx((1.0 / 3.0 + 0.25 + 0.2 + 1.0 / 6.0) / 4.0).epsilon(1e-12));
  }

  TEST_CASE("entropy, sink and distance of uniform attention") {
    const std::vector<double> weights = uniform_causal(4);
    const Spread causal = spread({weights, 4}, true);
    CHECK(causal.entropy == doctest::Approx((std::log(2.0) + std::log(3.0) + std::log(4.0)) / 4.0).epsilon(1e-12));
    CHECK(causal.relative_entropy == doctest::Approx(1.0).epsilon(1e-12));
    CHECK(causal.sink_share == doctest::Approx((1.0 + 1.0 / 2 + 1.0 / 3 + 1.0 / 4) / 4.0).epsilon(1e-12));
    CHECK(causal.distance == doctest::Approx((0.0 + 0.5 + 1.0 + 1.5) / 4.0).epsilon(1e-12));
    const std::vector<double> backwards = {0.0, 1.0, 0.0, 1.0};
    const Spread both = spread({backwards, 2}, false);
    CHECK(both.entropy == 0.0);
    CHECK(both.distance == 0.5);
    CHECK(both.sink_share == 0.0);
  }

  TEST_CASE("batches hold every line once, the longest first, within their bounds") {
    const std::vector<std::size_t> lengths = {3, 9, 1, 9, 4, 30};
    const auto batches = batches_by_length(lengths, 3, 18);
    CHECK(batches == std::vector<std::vector<std::size_t>>{{5}, {1, 3}, {4, 0, 2}});
    CHECK(batches_by_length({}, 3, 18).empty());
  }
}
