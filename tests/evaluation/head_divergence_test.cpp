// Jensen–Shannon divergences of heads, and the order that puts similar ones side by side.
#include "evaluation/head_divergence.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <set>

#include "inference/reference_run.h"
#include "model/load_network.h"
#include "support/golden.h"
#include "support/golden_model.h"

namespace head_divergence_test {

using namespace headlight::evaluation;

namespace {

/// Computes the divergence by the definition: half of both Kullback–Leibler divergences from the middle, in bits.
double divergence(const std::vector<float>& p, const std::vector<float>& q) {
  double sum = 0.0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double a = double{p[i]}, b = double{q[i]}, middle = 0.5 * (a + b);
    if (a > 0.0) sum += 0.5 * a * std::log2(a / middle);
    if (b > 0.0) sum += 0.5 * b * std::log2(b / middle);
  }
  return sum;
}

/// Attention of some heads, [head][query, key], of which a causal mask hides later keys.
std::vector<std::vector<float>> random_heads(std::uint32_t heads, std::uint32_t queries) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> some(0.01F, 1.0F);
  std::vector<std::vector<float>> weights(heads);
  for (std::vector<float>& map : weights) {
    for (std::uint32_t query = 0; query < queries; ++query) {
      std::vector<float> row(queries, 0.0F);
      for (std::uint32_t key = 0; key <= query; ++key) row[key] = some(random);
      const float sum = std::accumulate(row.begin(), row.end(), 0.0F);
      for (const float weight : row) map.push_back(weight / sum);
    }
  }
  return weights;
}

std::vector<float> joined(const std::vector<std::vector<float>>& heads, std::size_t first, std::size_t count) {
  std::vector<float> cells;
  for (const std::vector<float>& head : heads) {
    const auto begin = head.begin() + static_cast<std::ptrdiff_t>(first);
    cells.insert(cells.end(), begin, begin + static_cast<std::ptrdiff_t>(count));
  }
  return cells;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("equal rows are 0 bits apart, rows without a common key 1") {
    HeadDivergence heads(3);
    heads.begin({0.5F, 0.5F, 0.0F, 0.0F, 0.5F, 0.5F, 0.0F, 0.0F, 0.0F, 0.0F, 0.25F, 0.75F});
    CHECK(heads.go_on(1000));
    CHECK(heads.means(1) == std::vector<float>{0.0F, 0.0F, 1.0F, 0.0F, 0.0F, 1.0F, 1.0F, 1.0F, 0.0F});
  }

  TEST_CASE("in parts of any size it is the mean of what the definition gives") {
    constexpr std::uint32_t kHeads = 7, kQueries = 9;
    const auto weights = random_heads(kHeads, kQueries);
    for (const std::size_t rows : {9u, 4u, 1u}) {
      HeadDivergence heads(kHeads);
      CHECK(heads.pairs() == 21);
      for (std::size_t row = 0; row < kQueries; row += rows) {
        const std::size_t count = std::min<std::size_t>(rows, kQueries - row) * kQueries;
        heads.begin(joined(weights, row * kQueries, count));
        std::size_t steps = 1;
        while (!heads.go_on(5 * count)) ++steps;
        CHECK(steps == 5);  // of 21 pairs, five at a time
      }
      const std::vector<float> means = heads.means(kQueries);
      double worst = 0.0;
      for (std::size_t a = 0; a < kHeads; ++a) {
        for (std::size_t b = 0; b < kHeads; ++b) {
          const double difference = double{means[a * kHeads + b]} - divergence(weights[a], weights[b]) / kQueries;
          worst = std::max(std::isnan(difference) ? 1.0 : std::abs(difference), worst);
        }
      }
      CAPTURE(worst);
      CHECK(worst < 1e-6);  // observed: 5e-8; rows of float32 don't sum to 1 exactly
    }
  }

  TEST_CASE("of models' attention it is what NumPy gives of the attention that transformers computed") {
    double worst = 0.0;
    for (const nlohmann::json& golden : headlight::test::golden("circuits.json")) {
      if (!golden.contains("divergences")) continue;
      const auto name = golden.at("model").get<std::string>();
      CAPTURE(name);
      const auto loaded = headlight::model::load_network(headlight::test::golden_model_path(name));
      const auto cases = headlight::test::load_golden_cases(name);
      const auto used = std::ranges::find(cases, std::string("case1"), &headlight::test::GoldenCase::name);
      REQUIRE(used != cases.end());
      CHECK(used->input.source.ids == golden.at("ids").get<std::vector<std::uint32_t>>());
      const auto run = headlight::model::reference::run(loaded.network, used->input,
                                                        headlight::test::trained_mask(loaded.description, *used),
                                                        -std::numeric_limits<double>::infinity());
      std::vector<float> weights;
      for (const auto& stages : run.stages) {
        weights.insert(weights.end(), stages[headlight::attention::Stage::Weights].values.begin(),
                       stages[headlight::attention::Stage::Weights].values.end());
      }
      const std::vector<double> expected = headlight::test::flatten(golden.at("divergences"));
      HeadDivergence heads(static_cast<std::uint32_t>(golden.at("heads").size()));
      heads.begin(std::move(weights));
      while (!heads.go_on(10'000)) continue;
      worst = std::max(worst, headlight::test::max_difference(heads.means(used->input.source.length), expected));
    }
    MESSAGE("largest difference of a divergence: ", worst);
    CHECK(worst < 1e-5);
  }

  TEST_CASE("a weight that isn't finite makes the head's divergences none") {
    HeadDivergence heads(3);
    heads.begin({0.5F, 0.5F, std::numeric_limits<float>::quiet_NaN(), 0.5F, 1.0F, 0.0F});
    heads.go_on(1000);
    const std::vector<float> means = heads.means(1);
    CHECK(std::isnan(means[1]));
    CHECK(std::isnan(means[5]));
    CHECK(std::isfinite(means[2]));
  }

  TEST_CASE("the order has everything once, and groups are not torn apart") {
    CHECK(order_by_similarity({}, 0).empty());
    CHECK(order_by_similarity(std::vector<float>{0.0F}, 1) == std::vector<std::uint32_t>{0});
    // Points on a line: groups {0, 3, 6, …}, {1, 4, 7, …}, {2, 5, 8, …} far from each other.
    constexpr std::uint32_t kCount = 30;
    const auto place = [](std::uint32_t i) {
      return 100.0F * static_cast<float>(i % 3) + static_cast<float>(i / 3 * 7 % 10);
    };
    std::vector<float> distances;
    for (std::uint32_t a = 0; a < kCount; ++a) {
      for (std::uint32_t b = 0; b < kCount; ++b) distances.push_back(std::abs(place(a) - place(b)));
    }
    const std::vector<std::uint32_t> order = order_by_similarity(distances, kCount);
    CHECK(std::set<std::uint32_t>(order.begin(), order.end()).size() == kCount);
    REQUIRE(order.size() == kCount);
    std::size_t changes = 0;
    float walked = 0.0F;
    for (std::size_t i = 1; i < kCount; ++i) {
      changes += order[i] % 3 != order[i - 1] % 3 ? 1U : 0U;
      walked += std::abs(place(order[i]) - place(order[i - 1]));
    }
    CHECK(changes == 2);
    CHECK(walked < 400.0F);  // in the order of the line 209; by index 2,600
    // Heads that are all the same may come in any order, but each once.
    CHECK(order_by_similarity(std::vector<float>(25, 1.0F), 5).size() == 5);
  }
}

}  // namespace head_divergence_test
