// The sum of shards: the same bits in whatever order they come, saved and continued.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "app/data/survey/survey_fold.h"
#include "core/file.h"
#include "support/error_message.h"
#include "support/temporary_directory.h"

namespace survey_fold_test {

using namespace headlight;
using namespace headlight::app;
using evaluation::CorpusStatistics;
using evaluation::HeadMetric;

namespace {

SurveyIdentity identity() {
  return {
      .corpus = "corpus.txt",
      .model = "model",
      .measures = {
          .layout = {.layers = 1, .heads = 2}, .metrics = {HeadMetric::Entropy}, .most_tokens = 9, .top = 3, .samples = 2}};
}

/// Returns statistics of numbers whose sum depends on the order in which they are added.
CorpusStatistics statistics_of(std::uint64_t shard) {
  CorpusStatistics made(identity().measures);
  std::mt19937_64 generator(shard);
  std::uniform_real_distribution<double> uniform;
  made.texts = 1;
  for (evaluation::HeadProfile& profile : made.profiles) {  // more tokens than a sketch has counters
    std::vector<evaluation::TokenCount> counts;
    for (std::uint64_t key = shard % 7; key < 500; key += 1 + generator() % 3) {
      const double mass = uniform(generator);
      counts.push_back({.key = key, .mass = mass, .count = 1, .sure = mass});
    }
    profile.pairs = evaluation::TokenSketch(std::move(counts));
    profile.queries = 1;
    profile.self = uniform(generator);
  }
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

  TEST_CASE("parts that are merged are the whole to the last bit, and what is missing or comes twice is named") {
    const TemporaryDirectory folder;
    constexpr std::uint64_t kShards = 53;
    const auto measure = [&](const std::string& name, std::optional<ShardRange> part, std::uint64_t most = 1000) {
      SurveyFold fold(identity(), kShards, folder.path() / name, part);
      while (const std::optional<std::uint64_t> shard = fold.take()) {
        if (most-- == 0) break;
        fold.give(*shard, statistics_of(*shard));
      }
      fold.save();
      return encode(fold.statistics());
    };
    const std::string whole = measure("whole", {});
    for (const auto& [first, end] :
         std::vector<std::pair<std::uint64_t, std::uint64_t>>{{0, 7}, {7, 8}, {8, 8}, {8, 40}, {40, 53}}) {
      measure(fmt::format("{}-{}", first, end), ShardRange{first, end});
    }
    SurveyFold merged(identity(), kShards, {});
    for (const char* part : {"8-40", "0-7", "40-53", "8-8"}) merged.take_in(folder.path() / part);
    CHECK_FALSE(merged.is_complete());
    CHECK(merged.next_missing() == 7);
    CHECK(test::error_message([&] { merged.take_in(folder.path() / "8-40"); }).find("8-40 has shard 8 a second time") !=
          std::string::npos);
    merged.take_in(folder.path() / "7-8");
    CHECK(merged.is_complete());
    CHECK(encode(merged.statistics()) == whole);
    SurveyFold once(identity(), kShards, {});
    once.take_in(folder.path() / "whole");
    CHECK(encode(once.statistics()) == whole);
    // A part that was interrupted goes on as that part alone.
    measure("interrupted", ShardRange{8, 40}, 5);
    CHECK(test::error_message([&] {
            measure("interrupted", ShardRange{8, 41});
          }).find("has shards 8 to 40 of the corpus") != std::string::npos);
    CHECK(SurveyFold(identity(), kShards, folder.path() / "interrupted", ShardRange{8, 40}).done() == 5);
    CHECK(measure("interrupted", ShardRange{8, 40}) == measure("8-40", ShardRange{8, 40}));
    CHECK(test::error_message([&] {
            SurveyFold(identity(), kShards + 1, {}).take_in(folder.path() / "8-40");
          }).find("of a corpus of 53 shards instead of 54") != std::string::npos);
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
    // Every bit counts: of the identity, the count of shards, the sums (a sample of their bits) and the check sum itself.
    for (std::size_t bit = 8 * 19; bit < 8 * bytes.size();
         bit += bit < 8 * 400 || bit > 8 * (bytes.size() - 8) ? 1U : 251U) {
      std::string flipped = bytes;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
      write_file_atomically(file, flipped);
      CHECK(message(identity()).find("check sum is wrong") != std::string::npos);
    }
    write_file_atomically(file, "headlight survey 2\ncorpus");
    CHECK(message(identity()).find("of another version of headlight") != std::string::npos);
    write_file_atomically(file, "something else");
    CHECK(message(identity()).find("is no survey's") != std::string::npos);
  }
}

}  // namespace survey_fold_test
