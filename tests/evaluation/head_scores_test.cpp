// Stripes of a repeated sequence, and the batches of a survey, by hand.
#include <vector>

#include <doctest/doctest.h>

#include "evaluation/batches.h"
#include "evaluation/head_metric.h"

namespace head_scores_test {

using namespace headlight;
using namespace headlight::evaluation;

TEST_SUITE("cpu") {
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

  TEST_CASE("batches hold every line once, the longest first, within their bounds") {
    const std::vector<std::size_t> lengths = {3, 9, 1, 9, 4, 30};
    const auto batches = batches_by_length(lengths, 3, 18);
    CHECK(batches == std::vector<std::vector<std::size_t>>{{5}, {1, 3}, {4, 0, 2}});
    CHECK(batches_by_length({}, 3, 18).empty());
  }
}

}  // namespace head_scores_test
