// Statistics of a corpus: sums, spread, histograms and best examples, whole and in parts.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "core/error.h"
#include "evaluation/corpus_statistics.h"

namespace corpus_statistics_test {

using namespace headlight;
using namespace headlight::evaluation;

namespace {

const CorpusMeasures kMeasures{.layout = {.layers = 2, .heads = 3},
                               .metrics = {HeadMetric::Induction, HeadMetric::Entropy},
                               .most_tokens = 64,
                               .top = 4,
                               .samples = 3};

CorpusStatistics random_statistics(std::uint32_t seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> uniform;
  CorpusStatistics made(kMeasures);
  made.texts = 10 + seed;
  made.tokens = 100;
  for (std::size_t cell = 0; cell < kMeasures.cells(); ++cell) {
    for (std::uint32_t text = 0; text < 10; ++text) {
      const double value = uniform(generator);
      made.metrics[cell].add(value, 1.0);
      made.examples[cell].add(
          {.value = value, .weight = 0.5, .offset = std::uint64_t{seed} * 1000 + text, .query = text, .key = 1});
      made.samples[cell].add({.value = value, .weight = 0.5, .offset = std::uint64_t{seed} * 1000 + text});
    }
  }
  const std::vector<std::vector<std::uint32_t>> lines = {{1, 2, seed}};
  ProfileMeter meter(made.profiles.size(), lines);
  const std::vector<double> weights = {1.0, 0.0, 0.0, 0.25, 0.75, 0.0, uniform(generator), 0.125, 0.5};
  for (std::size_t head = 0; head < made.profiles.size(); ++head) meter.add(head, 0, {weights, 3});
  made.profiles = meter.take();
  return made;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("mean, spread and histogram by hand") {
    MetricStatistics found;
    CHECK(found.mean() == 0.0);
    CHECK(found.spread() == 0.0);
    for (const double value : {0.0, 0.25, 0.5, 1.25}) found.add(value, 1.0);
    CHECK(found.texts == 4);
    CHECK(found.mean() == 0.5);
    CHECK(found.spread() == doctest::Approx(std::sqrt((0.25 + 0.0625 + 0.0 + 0.5625) / 4)).epsilon(1e-15));
    CHECK(found.least == 0.0);
    CHECK(found.most == 1.25);
    CHECK(found.histogram[0] == 1);
    CHECK(found.histogram[8] == 1);
    CHECK(found.histogram[16] == 1);
    CHECK(found.histogram[31] == 1);  // what is beyond the last bin is in it
    CHECK(kMeasures.histogram_top(HeadMetric::Entropy) == doctest::Approx(std::log(64.0)));
    CHECK(kMeasures.histogram_top(HeadMetric::Distance) == 64.0);
    CHECK(kMeasures.histogram_top(HeadMetric::Sink) == 1.0);
  }

  TEST_CASE("the best examples are the same in any order, and none is lost to a tie") {
    std::vector<HeadExample> all;
    for (std::uint32_t i = 0; i < 40; ++i) {
      all.push_back({.value = double(i % 7), .weight = double(i % 3), .offset = i / 4, .query = i % 5, .key = i % 2});
    }
    std::mt19937 generator(1);
    KeptExamples first(9);
    for (const HeadExample& example : all) first.add(example);
    CHECK(first.kept().size() == 9);
    CHECK(first.kept().front().value == 6.0);
    for (int round = 0; round < 20; ++round) {
      std::ranges::shuffle(all, generator);
      KeptExamples whole(9), left(9), right(9);
      for (std::size_t i = 0; i < all.size(); ++i) {
        whole.add(all[i]);
        (i % 3 == 0 ? left : right).add(all[i]);
      }
      left.merge(right);
      CHECK(whole == first);
      CHECK(left == first);
    }
    KeptExamples once(3);
    for (const std::uint64_t offset : {9U, 4U, 7U})
      once.add({.value = 1.0, .weight = 0.5, .offset = offset, .query = 2, .key = 1});
    REQUIRE(once.kept().size() == 1);
    CHECK(once.kept()[0].offset == 4);
    KeptExamples none(0);
    none.add(all.front());
    CHECK(none.kept().empty());
  }

  TEST_CASE("a sample is the texts with the smallest hashes, whatever their values and order") {
    std::vector<std::uint64_t> offsets(100);
    for (std::uint64_t i = 0; i < offsets.size(); ++i) offsets[i] = 37 * i;
    std::mt19937 generator(2);
    std::ranges::shuffle(offsets, generator);
    KeptExamples whole(7, Keeping::Sample), left(7, Keeping::Sample), right(7, Keeping::Sample);
    for (const std::uint64_t offset : offsets) {
      const HeadExample example{.value = static_cast<double>(offset % 5), .offset = offset};
      CHECK((whole.kept().size() < 7 ||
             whole.may_enter(0.0, offset) == (text_hash(offset) < text_hash(whole.kept().back().offset))));
      whole.add(example);
      (offset % 2 == 0 ? left : right).add(example);
    }
    left.merge(right);
    CHECK(left == whole);
    std::ranges::sort(offsets, {}, text_hash);
    REQUIRE(whole.kept().size() == 7);
    for (std::size_t i = 0; i < 7; ++i) CHECK(whole.kept()[i].offset == offsets[i]);
    CHECK(text_hash(0) == 0xE220A8397B1DCDAFU);  // SplitMix64's first number from seed 0
  }

  TEST_CASE("statistics are written and read to the last bit, and damaged ones are refused") {
    CorpusStatistics sum = random_statistics(1);
    sum.merge(random_statistics(2));
    const std::string bytes = encode(sum);
    const CorpusStatistics read = decode_statistics(bytes, kMeasures);
    CHECK(read.metrics == sum.metrics);
    CHECK(read.examples == sum.examples);
    CHECK(read.samples == sum.samples);
    CHECK(read.profiles == sum.profiles);
    CHECK(sum.profiles[3].queries == 6);
    CHECK(read.texts == 23);
    CHECK(encode(read) == bytes);
    CHECK_THROWS_AS(decode_statistics(bytes.substr(0, bytes.size() - 1), kMeasures), Error);
    CHECK_THROWS_AS(decode_statistics(bytes + "x", kMeasures), Error);
    CHECK_THROWS_AS(decode_statistics("", kMeasures), Error);
    std::string lying = bytes;  // a number of examples that no survey has
    lying[56 + kMeasures.cells() * 37 * 8] = '\x7F';
    CHECK_THROWS_AS(decode_statistics(lying, kMeasures), Error);

    // Sums that no text can give, and a counter of nothing.
    for (const std::size_t at : {56 + std::size_t{8}, bytes.size() - 24}) {
      lying = bytes;
      for (std::size_t byte = 0; byte < 8; ++byte) lying[at + byte] = '\xFF';  // not a number, or not a right one
      CHECK_THROWS_AS(decode_statistics(lying, kMeasures), Error);
    }

    // Examples that can't be sorted, or that no text can show.
    CorpusStatistics odd(kMeasures);
    odd.examples[0].add(
        {.value = std::numeric_limits<double>::quiet_NaN(), .weight = 0.5, .offset = 3, .query = 2, .key = 1});
    CHECK_THROWS_AS(decode_statistics(encode(odd), kMeasures), Error);
    odd = CorpusStatistics(kMeasures);
    odd.examples[0].add({.value = 1.0, .weight = 0.5, .offset = 3, .query = kMeasures.most_tokens, .key = 1});
    CHECK_THROWS_AS(decode_statistics(encode(odd), kMeasures), Error);
  }
}

}  // namespace corpus_statistics_test
