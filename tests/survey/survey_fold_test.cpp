// The sum of shards: the same bits in whatever order they come, saved and continued.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "app/survey/survey_fold.h"
#include "core/atomic_file.h"
#include "support/error_message.h"
#include "support/temporary_directory.h"

namespace survey_fold_test {

using namespace headlight;
using namespace headlight::app;
using evaluation::CorpusStatistics;
using evaluation::HeadMetric;

namespace {

SurveyIdentity identity() {
  return {.corpus = "corpus.txt",
          .model = "model",
          .measures = {.layers = 1, .heads = 2, .metrics = {HeadMetric::Entropy}, .most_tokens = 9, .top = 3}};
}

/// Of numbers whose sum depends on the order in which they are added.
CorpusStatistics statistics_of(std::uint64_t shard) {
  CorpusStatistics made(identity().measures);
  std::mt19937_64 generator(shard);
  std::uniform_real_distribution<double> uniform;
  made.texts = 1;
  for (auto& metric : made.metrics) metric.add(uniform(generator) * (shard % 3 == 0 ? 1e9 : 1e-9), 1.0);
  return made;
}

std::string sum_in_order(const std::vector<std::uint64_t>& order, const std::filesystem::path& file) {
  SurveyFold fold(identity(), order.size(), file);
  while (fold.take()) {
  }
  for (const std::uint64_t shard : order) fold.give(shard, statistics_of(shard));
  CHECK(fold.is_complete());
  return encode(fold.statistics());
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("the sum has the same bits in every order") {
    const TemporaryDirectory folder;
    std::vector<std::uint64_t> order(60);
    for (std::uint64_t i = 0; i < order.size(); ++i) order[i] = i;
    const std::string expected = sum_in_order(order, folder.path() / "none");
    std::mt19937 generator(3);
    for (int round = 0; round < 10; ++round) {
      std::ranges::shuffle(order, generator);
      CHECK(sum_in_order(order, folder.path() / "none") == expected);
    }
  }

  TEST_CASE("shards are handed out once, never too far ahead, and the rest again after an interruption") {
    const TemporaryDirectory folder;
    const std::filesystem::path file = folder.path() / "survey.state";
    std::string whole;
    {
      SurveyFold fold(identity(), 1000, folder.path() / "other");
      for (std::uint64_t shard = 0; shard < 1000; ++shard) {
        REQUIRE(fold.take() == shard);
        fold.give(shard, statistics_of(shard));
      }
      whole = encode(fold.statistics());
    }
    {
      SurveyFold fold(identity(), 1000, file);
      for (std::uint64_t shard = 0; shard < SurveyFold::kMaxAhead; ++shard) CHECK(fold.take() == shard);
      CHECK_FALSE(fold.take());
      for (std::uint64_t shard = 1; shard < 100; ++shard) fold.give(shard, statistics_of(shard));
      CHECK(fold.done() == 0);
      CHECK_FALSE(fold.take());
      fold.give(0, statistics_of(0));
      CHECK(fold.done() == 100);
      CHECK(fold.take() == SurveyFold::kMaxAhead);
      fold.give(150, statistics_of(150));  // is lost: shard 100 is not there
      fold.save();
    }
    SurveyFold fold(identity(), 1000, file);
    CHECK(fold.done() == 100);
    for (std::uint64_t shard = 100; shard < 1000; ++shard) {
      REQUIRE(fold.take() == shard);
      fold.give(shard, statistics_of(shard));
    }
    CHECK(encode(fold.statistics()) == whole);
  }

  TEST_CASE("another survey's file, and a damaged one, are refused") {
    const TemporaryDirectory folder;
    const std::filesystem::path file = folder.path() / "survey.state";
    SurveyFold fold(identity(), 2, file);
    fold.give(0, statistics_of(0));
    fold.save();
    const auto message = [&](const SurveyIdentity& other, std::uint64_t shards = 2) {
      return test::error_message([&] { SurveyFold(other, shards, file); });
    };
    SurveyIdentity other = identity();
    other.measures.top = 4;
    CHECK(message(other).find("is of another survey (corpus corpus.txt; model model;") != std::string::npos);
    other = identity();
    other.corpus = "another.txt";
    CHECK(message(other).find("choose another --out, or --restart") != std::string::npos);
    const std::string bytes = read_file(file);
    CHECK(message(identity(), 0).find("is damaged") != std::string::npos);
    write_file_atomically(file, bytes.substr(0, bytes.size() - 5));
    CHECK(message(identity()) == file.string() + " is damaged: its check sum is wrong; measure again with --restart");
    // Every bit counts: of the identity, the count of shards, the sums and the check sum itself.
    for (std::size_t bit = 8 * 19; bit < 8 * bytes.size(); ++bit) {
      std::string flipped = bytes;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
      write_file_atomically(file, flipped);
      CHECK(message(identity()).find("check sum is wrong") != std::string::npos);
    }
    write_file_atomically(file, "headlight survey 1\ncorpus");
    CHECK(message(identity()).find("of another version of headlight") != std::string::npos);
    write_file_atomically(file, "something else");
    CHECK(message(identity()).find("is no survey's") != std::string::npos);
  }
}

}  // namespace survey_fold_test
