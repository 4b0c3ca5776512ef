#include "inference/sampling.h"

#include <cmath>
#include <limits>
#include <map>

#include <doctest/doctest.h>

#include "core/error.h"

namespace sampling_test {

using namespace headlight;
using namespace headlight::inference;

namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

std::vector<std::uint32_t> draw(const SamplingSettings& settings, const std::vector<float>& logits, int count) {
  Sampler sampler(settings);
  std::vector<std::uint32_t> ids;
  for (int i = 0; i < count; ++i) ids.push_back(sampler.choose(logits));
  return ids;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("shares are softmax by hand") {
    // e^0 : e^ln2 : e^ln5 = 1 : 2 : 5
    const std::vector<float> logits = {0.0f, std::log(2.0f), std::log(5.0f), kNever};
    const std::vector<double> shares = probabilities(logits);
    CHECK(shares[0] == doctest::Approx(0.125).epsilon(1e-6));
    CHECK(shares[1] == doctest::Approx(0.25).epsilon(1e-6));
    CHECK(shares[2] == doctest::Approx(0.625).epsilon(1e-6));
    CHECK(shares[3] == 0.0);
    // The odds are squared at temperature ½: 1 : 4 : 25.
    const std::vector<double> sharp = probabilities(logits, 0.5);
    CHECK(sharp[2] == doctest::Approx(25.0 / 30.0).epsilon(1e-6));
    CHECK(entropy(logits) ==
          doctest::Approx(0.125 * std::log(8.0) + 0.25 * std::log(4.0) - 0.625 * std::log(0.625)).epsilon(1e-6));
  }

  TEST_CASE("huge logits and a large vocabulary keep their precision") {
    std::vector<float> logits(250'000, 1e4f);
    logits[77] = 1e4f + 1.0f;
    const std::vector<double> shares = probabilities(logits);
    double sum = 0.0;
    for (const double share : shares) sum += share;
    CHECK(std::abs(sum - 1.0) < 1e-9);  // 3e-12 measured
    CHECK(shares[77] / shares[0] == doctest::Approx(std::exp(1.0)));
    CHECK(top_candidates(logits, 1).front().probability == doctest::Approx(shares[77]).epsilon(1e-12));
  }

  TEST_CASE("candidates are sorted by probability, equal ones by id, and none has probability 0") {
    const std::vector<Candidate> top = top_candidates(std::vector<float>{1.0f, 3.0f, kNever, 3.0f, NAN, 2.0f}, 10);
    REQUIRE(top.size() == 4);
    CHECK(top[0].id == 1);
    CHECK(top[1].id == 3);
    CHECK(top[2].id == 5);
    CHECK(top[3].id == 0);
    CHECK(top[0].logit == 3.0f);
    CHECK(top_candidates(std::vector<float>{}, 3).empty());
  }

  TEST_CASE("greedy takes the likeliest, regardless of other settings") {
    const std::vector<float> logits = {0.5f, 2.0f, 1.9f};
    const SamplingSettings settings{
        .method = SamplingMethod::Greedy, .temperature = 0.0f, .top_k = 2, .top_p = 0.1f, .seed = 9};
    CHECK(draw(settings, logits, 3) == std::vector<std::uint32_t>{1, 1, 1});
  }

  TEST_CASE("a distribution is cut off by top-k, then by top-p, and draws follow its probabilities") {
    // e^0 : e^ln2 : e^ln5 = 1 : 2 : 5, and one of probability 0.
    const std::vector<float> logits = {0.0f, std::log(2.0f), kNever, std::log(5.0f)};
    SamplingSettings settings{.method = SamplingMethod::Random, .seed = 3};
    const Distribution all = distribution(logits, settings);
    CHECK(all.drawable == 3);
    CHECK(all.chances[3] == doctest::Approx(0.625).epsilon(1e-6));
    CHECK(all.entropy == doctest::Approx(entropy(logits)));
    settings.top_k = 2;
    const Distribution two = distribution(logits, settings);
    CHECK(two.drawable == 2);
    CHECK(two.chances[0] == 0.0);
    CHECK(two.probabilities[0] == doctest::Approx(0.125).epsilon(1e-6));  // over the whole vocabulary still
    CHECK(two.chances[3] == doctest::Approx(5.0 / 7.0).epsilon(1e-6));
    settings.top_p = 0.7f;  // of the top-k candidates: 5/7 reaches it
    CHECK(distribution(logits, settings).chances[3] == 1.0);
    settings = {.method = SamplingMethod::Random, .temperature = 0.5f, .seed = 3};
    CHECK(distribution(logits, settings).chances[3] == doctest::Approx(25.0 / 30.0).epsilon(1e-6));
    // The Sampler draws with these probabilities.
    settings.top_p = 0.9f;
    const Distribution nucleus = distribution(logits, settings);
    CHECK(nucleus.drawable == 2);
    constexpr int kDraws = 20'000;
    std::map<std::uint32_t, int> counts;
    for (const std::uint32_t id : draw(settings, logits, kDraws)) ++counts[id];
    CHECK_FALSE(counts.contains(0));
    CHECK(std::abs(counts[1] / double{kDraws} - nucleus.chances[1]) < 0.013);  // five standard deviations
    // Greedy sampling has the softmax, regardless of other settings.
    settings.method = SamplingMethod::Greedy;
    CHECK(distribution(logits, settings).chances[0] == doctest::Approx(0.125).epsilon(1e-6));
  }

  TEST_CASE("random draws follow the distribution, and a seed repeats them") {
    const std::vector<float> logits = {0.0f, std::log(2.0f), std::log(5.0f), kNever};
    const SamplingSettings settings{.method = SamplingMethod::Random, .seed = 7};
    constexpr int kDraws = 20'000;
    std::map<std::uint32_t, int> counts;
    for (const std::uint32_t id : draw(settings, logits, kDraws)) ++counts[id];
    CHECK_FALSE(counts.contains(3));
    CHECK(std::abs(counts[0] / double{kDraws} - 0.125) < 0.012);  // five standard deviations; 0.003 measured
    CHECK(std::abs(counts[2] / double{kDraws} - 0.625) < 0.017);
    CHECK(draw(settings, logits, 50) == draw(settings, logits, 50));
    SamplingSettings other = settings;
    other.seed = 8;
    CHECK(draw(settings, logits, 50) != draw(other, logits, 50));
  }

  TEST_CASE("top k and top p cut the tail") {
    const std::vector<float> logits = {0.0f, std::log(2.0f), std::log(5.0f), std::log(0.5f)};
    for (const std::uint32_t id : draw({.method = SamplingMethod::Random, .top_k = 2, .seed = 3}, logits, 500)) {
      CHECK((id == 2 || id == 1));
    }
    // 5/8.5 alone reaches 0.5; with 2/8.5 it reaches 0.8.
    for (const std::uint32_t id : draw({.method = SamplingMethod::Random, .top_p = 0.5f, .seed = 3}, logits, 200))
      CHECK(id == 2);
    bool has_second = false;
    for (const std::uint32_t id : draw({.method = SamplingMethod::Random, .top_p = 0.8f, .seed = 3}, logits, 500)) {
      CHECK((id == 2 || id == 1));
      has_second = has_second || id == 1;
    }
    CHECK(has_second);
    CHECK(draw({.method = SamplingMethod::Random, .top_p = 0.0f, .seed = 3}, logits, 5) ==
          std::vector<std::uint32_t>{2, 2, 2, 2, 2});
  }

  TEST_CASE("settings and logits that can't be sampled are refused") {
    CHECK_THROWS_AS(draw({.method = SamplingMethod::Random, .temperature = 0.0f}, {1.0f, 2.0f}, 1), Error);
    CHECK_THROWS_AS(draw({}, {kNever, kNever}, 1), Error);
  }
}

}  // namespace sampling_test
