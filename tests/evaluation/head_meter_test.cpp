// Head metrics against TransformerLens' definitions by hand, against whole matrices, and against another program's numbers.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include <doctest/doctest.h>

#include "evaluation/head_meter.h"

namespace head_meter_test {

using namespace headlight::evaluation;

namespace {

constexpr Exclusions kNone = {};
constexpr Exclusions kFirst = {.first_token = true};
constexpr Exclusions kCurrent = {.current_token = true};
constexpr Exclusions kBoth = {.first_token = true, .current_token = true};

using Map = std::vector<double>;  // [n, n]

Map uniform_causal(std::uint32_t n) {
  Map weights(std::size_t{n} * n, 0.0);
  for (std::uint32_t i = 0; i < n; ++i) {
    for (std::uint32_t j = 0; j <= i; ++j) weights[std::size_t{i} * n + j] = 1.0 / (i + 1);
  }
  return weights;
}

/// Adds the rows of a map in this order.
HeadMetrics measure(const Map& map, const TokenRepeats& repeats, const std::vector<std::uint32_t>& order, bool is_causal) {
  const std::uint32_t n = repeats.size();
  HeadMeter meter(repeats);
  for (const std::uint32_t query : order) {
    meter.add(query, std::span(map).subspan(std::size_t{query} * n, n), is_causal ? query + 1 : n);
  }
  return meter.metrics();
}

HeadMetrics measure(const Map& map, const std::vector<std::uint32_t>& ids, bool is_causal = true) {
  std::vector<std::uint32_t> order(ids.size());
  std::iota(order.begin(), order.end(), 0u);
  return measure(map, TokenRepeats(ids), order, is_causal);
}

/// D of a pattern by its definition (HeadMetric), cell by cell.
bool is_wanted(HeadMetric pattern, const std::vector<std::uint32_t>& ids, std::uint32_t i, std::uint32_t j) {
  if (pattern == HeadMetric::PreviousToken) return j + 1 == i;
  if (pattern == HeadMetric::DuplicateToken) return j < i && ids[j] == ids[i];
  return j >= 1 && j <= i && j - 1 < i && ids[j - 1] == ids[i];
}

/// The mean of Σⱼ A∘D over the rows of D that aren't empty; NaN without any.
double mean_by_definition(HeadMetric pattern, const Map& map, const std::vector<std::uint32_t>& ids) {
  const auto n = static_cast<std::uint32_t>(ids.size());
  double sum = 0.0, rows = 0.0;
  for (std::uint32_t i = 0; i < n; ++i) {
    double on = 0.0, wanted = 0.0;
    for (std::uint32_t j = 0; j < n; ++j) {
      if (!is_wanted(pattern, ids, i, j)) continue;
      on += map[std::size_t{i} * n + j];
      wanted = 1.0;
    }
    sum += on;
    rows += wanted;
  }
  return sum / rows;
}

double by_definition(HeadMetric pattern, const Map& map, const std::vector<std::uint32_t>& ids, PatternScoring scoring) {
  const auto n = static_cast<std::uint32_t>(ids.size());
  double on = 0.0, all = 0.0, difference = 0.0;
  for (std::uint32_t i = 0; i < n; ++i) {
    for (std::uint32_t j = 0; j < n; ++j) {
      const bool is_left_out = (scoring.exclusions.first_token && j == 0) || (scoring.exclusions.current_token && i == j);
      if (is_left_out) continue;
      const double weight = map[std::size_t{i} * n + j], wanted = is_wanted(pattern, ids, i, j) ? 1.0 : 0.0;
      on += weight * wanted;
      all += weight;
      difference += std::abs(weight - wanted);
    }
  }
  return scoring.measure == PatternMeasure::Mul ? on / all : 1.0 - difference / n;
}

using Cells = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

/// Cells (query, key) of a pattern.
Cells cells_of(HeadMetric pattern, const std::vector<std::uint32_t>& ids) {
  const TokenRepeats repeats(ids);
  Cells cells;
  for (std::uint32_t query = 0; query < repeats.size(); ++query) {
    for (const std::uint32_t key : repeats.keys(pattern, query)) cells.emplace_back(query, key);
  }
  return cells;
}

double four_decimals(double value) { return std::round(value * 1e4) / 1e4; }

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a previous-token head of four tokens, by all measures and exclusions") {
    const Map map = {1.0, 0.0, 0.0, 0.0, 0.5, 0.5, 0.0, 0.0, 0.2, 0.3, 0.5, 0.0, 0.1, 0.15, 0.5, 0.25};
    const HeadMetrics metrics = measure(map, {7, 8, 9, 10});
    const auto score = [&](PatternMeasure measure, Exclusions exclusions) {
      return metrics.value(HeadMetric::PreviousToken, {.measure = measure, .exclusions = exclusions}).value();
    };
    CHECK(metrics.value(HeadMetric::PreviousToken).value() == doctest::Approx((0.5 + 0.3 + 0.5) / 3.0).epsilon(1e-12));
    CHECK(score(PatternMeasure::Mean, kBoth) == score(PatternMeasure::Mean, kNone));
    CHECK(four_decimals(score(PatternMeasure::Mul, kNone)) == 0.3250);
    CHECK(four_decimals(score(PatternMeasure::Mul, kFirst)) == 0.3636);
    CHECK(four_decimals(score(PatternMeasure::Mul, kCurrent)) == 0.7429);
    CHECK(four_decimals(score(PatternMeasure::Mul, kBoth)) == 0.8421);
    CHECK(score(PatternMeasure::Abs, kNone) == doctest::Approx(-0.100).epsilon(1e-12));
    CHECK(score(PatternMeasure::Abs, kFirst) == doctest::Approx(0.350).epsilon(1e-12));
    CHECK(score(PatternMeasure::Abs, kCurrent) == doctest::Approx(0.463).epsilon(1e-12));
    CHECK(score(PatternMeasure::Abs, kBoth) == doctest::Approx(0.662).epsilon(1e-12));
  }

  TEST_CASE("patterns of a repeated sequence") {
    const std::vector<std::uint32_t> ids = {0, 11, 12, 13, 11, 12, 13};
    CHECK(cells_of(HeadMetric::PreviousToken, ids) == Cells{{1, 0}, {2, 1}, {3, 2}, {4, 3}, {5, 4}, {6, 5}});
    CHECK(cells_of(HeadMetric::DuplicateToken, ids) == Cells{{4, 1}, {5, 2}, {6, 3}});
    CHECK(cells_of(HeadMetric::Induction, ids) == Cells{{4, 2}, {5, 3}, {6, 4}});
    CHECK(cells_of(HeadMetric::Induction, {5, 5}) == Cells{{1, 1}});  // an immediate repeat sets the diagonal
    CHECK(cells_of(HeadMetric::DuplicateToken, {5, 5, 6, 5}) == Cells{{1, 0}, {3, 0}, {3, 1}});
    CHECK(cells_of(HeadMetric::Induction, {1, 2, 3}).empty());
    CHECK(cells_of(HeadMetric::PreviousToken, {1}).empty());
    const HeadMetrics metrics = measure(uniform_causal(7), ids);
    const PatternScoring mul{.measure = PatternMeasure::Mul};
    CHECK(four_decimals(metrics.value(HeadMetric::PreviousToken, mul).value()) == 0.2276);
    CHECK(four_decimals(metrics.value(HeadMetric::DuplicateToken, mul).value()) == 0.0728);
    CHECK(four_decimals(metrics.value(HeadMetric::Induction, mul).value()) == 0.0728);
    // Rows 1 to 6, and rows 4 to 6.
    const double last = 1.0 / 5 + 1.0 / 6 + 1.0 / 7;
    CHECK(metrics.value(HeadMetric::PreviousToken).value() ==
          doctest::Approx((0.5 + 1.0 / 3 + 0.25 + last) / 6).epsilon(1e-12));
    CHECK(metrics.value(HeadMetric::DuplicateToken).value() == doctest::Approx(last / 3).epsilon(1e-12));
    CHECK(metrics.value(HeadMetric::Induction).value() == doctest::Approx(last / 3).epsilon(1e-12));
  }

  TEST_CASE("entropy, sink, distance and concentration of uniform attention") {
    const HeadMetrics causal = measure(uniform_causal(4), {1, 2, 3, 4});
    CHECK(causal.value(HeadMetric::Entropy).value() ==
          doctest::Approx((std::log(2.0) + std::log(3.0) + std::log(4.0)) / 4.0).epsilon(1e-12));
    CHECK(causal.value(HeadMetric::RelativeEntropy).value() == doctest::Approx(1.0).epsilon(1e-12));
    const double mean_of_first = (1.0 + 1.0 / 2 + 1.0 / 3 + 1.0 / 4) / 4.0;
    CHECK(causal.value(HeadMetric::Sink).value() == doctest::Approx(mean_of_first).epsilon(1e-12));
    CHECK(causal.value(HeadMetric::Concentration).value() == doctest::Approx(mean_of_first).epsilon(1e-12));
    CHECK(causal.value(HeadMetric::Distance).value() == doctest::Approx((0.0 + 0.5 + 1.0 + 1.5) / 4.0).epsilon(1e-12));
    const HeadMetrics both_ways = measure({0.0, 1.0, 0.0, 1.0}, {1, 2}, false);
    CHECK(both_ways.value(HeadMetric::Entropy).value() == 0.0);
    CHECK(both_ways.value(HeadMetric::Distance).value() == 0.5);
    CHECK(both_ways.value(HeadMetric::Sink).value() == 0.0);
  }

  TEST_CASE("rows in any order give what the definitions give of whole matrices") {
    std::mt19937 generator(7);
    std::uniform_real_distribution<double> uniform(0.0, 1.0);
    for (const std::uint32_t n : {1u, 2u, 3u, 17u, 64u}) {
      CAPTURE(n);
      std::vector<std::uint32_t> ids(n), order(n);
      for (std::uint32_t& id : ids) id = static_cast<std::uint32_t>(generator() % 6);
      std::iota(order.begin(), order.end(), 0u);
      std::shuffle(order.begin(), order.end(), generator);
      Map map(std::size_t{n} * n, 0.0);
      for (std::uint32_t i = 0; i < n; ++i) {
        double sum = 0.0;
        for (std::uint32_t j = 0; j <= i; ++j) sum += map[std::size_t{i} * n + j] = uniform(generator);
        for (std::uint32_t j = 0; j <= i; ++j) map[std::size_t{i} * n + j] /= sum;
      }
      const HeadMetrics metrics = measure(map, TokenRepeats(ids), order, true);
      for (const HeadMetric pattern : {HeadMetric::PreviousToken, HeadMetric::DuplicateToken, HeadMetric::Induction}) {
        const bool has_cells = !cells_of(pattern, ids).empty();
        const double mean = mean_by_definition(pattern, map, ids);
        CHECK(metrics.value(pattern).has_value() == has_cells);
        CHECK(metrics.number(pattern) == doctest::Approx(std::isnan(mean) ? 0.0 : mean).epsilon(1e-12));
        for (const Exclusions& exclusions : {kNone, kFirst, kCurrent, kBoth}) {
          const PatternScoring share{.measure = PatternMeasure::Mul, .exclusions = exclusions};
          const PatternScoring agreement{.measure = PatternMeasure::Abs, .exclusions = exclusions};
          CHECK(metrics.value(pattern, share).has_value() == has_cells);
          const double expected = by_definition(pattern, map, ids, share);
          CHECK(metrics.number(pattern, share) == doctest::Approx(std::isnan(expected) ? 0.0 : expected).epsilon(1e-9));
          const double error = metrics.number(pattern, agreement) - by_definition(pattern, map, ids, agreement);
          CHECK(std::abs(error) < 0.00051);  // three decimals
        }
      }
    }
  }

  TEST_CASE("a weight that isn't finite, wherever it is, leaves no metric a number") {
    const std::vector<std::uint32_t> ids = {5, 6, 5, 6};
    const TokenRepeats repeats(ids);
    const double infinity = std::numeric_limits<double>::infinity();
    for (const double bad : {std::nan(""), infinity, -infinity}) {
      for (std::uint32_t at = 0; at < 16; ++at) {
        CAPTURE(bad);
        CAPTURE(at);
        Map map = uniform_causal(4);
        map[at] = bad;
        const HeadMetrics metrics = measure(map, ids);
        HeadMeter between;
        for (std::uint32_t query = 0; query < 4; ++query) between.add(query, std::span(map).subspan(4UL * query, 4), 4);
        for (std::size_t i = 0; i < kHeadMetrics; ++i) {
          const auto metric = static_cast<HeadMetric>(i);
          CAPTURE(i);
          CHECK_FALSE(between.metrics().value(metric).has_value());
          for (const PatternMeasure measure : {PatternMeasure::Mean, PatternMeasure::Mul, PatternMeasure::Abs}) {
            for (const Exclusions& exclusions : {kNone, kFirst, kCurrent, kBoth}) {
              const PatternScoring scoring{.measure = measure, .exclusions = exclusions};
              CHECK_FALSE(metrics.value(metric, scoring).has_value());
              CHECK(std::isnan(metrics.number(metric, scoring)));
            }
          }
        }
      }
    }
  }

  TEST_CASE("what isn't defined has no value") {
    const HeadMetrics nothing = HeadMeter().metrics();
    const HeadMetrics one = measure({1.0}, {5});
    const TokenRepeats repeats(std::vector<std::uint32_t>{1, 2});
    HeadMeter broken(repeats);
    broken.add(0, std::vector<double>{std::nan(""), 0.0}, 1);
    HeadMeter cross;
    for (const std::uint32_t query : {0u, 1u}) cross.add(query, std::vector<double>{0.25, 0.25, 0.5}, 3);
    for (std::size_t i = 0; i < kHeadMetrics; ++i) {
      const auto metric = static_cast<HeadMetric>(i);
      CAPTURE(i);
      CHECK_FALSE(nothing.value(metric).has_value());
      CHECK(one.value(metric).has_value() == (!is_of_pattern(metric) && metric != HeadMetric::RelativeEntropy));
      CHECK(cross.metrics().value(metric).has_value() == (!is_of_pattern(metric) && metric != HeadMetric::Distance));
    }
    CHECK_FALSE(broken.metrics().value(HeadMetric::Sink).has_value());
    CHECK_FALSE(broken.metrics().value(HeadMetric::PreviousToken).has_value());
    CHECK(cross.metrics().value(HeadMetric::Sink) == 0.25);
    CHECK(cross.metrics().value(HeadMetric::Concentration) == 0.5);
    CHECK(measure({1.0}, {5}).number(HeadMetric::PreviousToken, {.measure = PatternMeasure::Mul, .exclusions = kBoth}) ==
          0.0);
  }
}

}  // namespace head_meter_test
