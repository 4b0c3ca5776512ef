// Profiles of heads' attention over texts: sketches of tokens, distances, positions, mean maps; by hand, by plain
// loops, and against numpy over transformers' attention.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "evaluation/head_layout.h"
#include "evaluation/head_maps.h"
#include "evaluation/head_profile.h"
#include "support/golden.h"
#include "support/golden_model.h"
#include "support/gpu.h"
#include "support/running_session.h"

namespace head_profile_test {

using namespace headlight;
using namespace headlight::evaluation;

namespace {

std::vector<TokenCount> counts_of(const std::map<std::uint64_t, double>& masses) {
  std::vector<TokenCount> counts;
  for (const auto& [key, mass] : masses) counts.push_back({.key = key, .mass = mass, .count = 1, .sure = mass});
  return counts;
}

/// The largest |a − b| relative to max(|b|, 1); infinite for a NaN.
class Worst {
 public:
  void note(double found, double expected) {
    const double off = std::abs(found - expected) / std::max(std::abs(expected), 1.0);
    worst_ = std::isnan(off) ? std::numeric_limits<double>::infinity() : std::max(worst_, off);
  }
  double worst() const { return worst_; }

 private:
  double worst_ = 0.0;
};

void compare(Worst& worst, const TokenSketch& found, const nlohmann::json& expected) {
  REQUIRE(found.counters().size() == expected.size());
  CHECK(found.missed() == 0.0);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const TokenCount& counter = found.counters()[i];
    const std::size_t keys = expected[i].size() - 2;
    const auto key = keys == 2 ? expected[i][0].get<std::uint64_t>() << 32 | expected[i][1].get<std::uint64_t>()
                               : expected[i][0].get<std::uint64_t>();
    CHECK(counter.key == key);
    worst.note(counter.mass, expected[i][keys].get<double>());
    // Tokens are counted as keys where they get nothing, too.
    CHECK(counter.count == expected[i][keys + 1].get<std::uint64_t>());
  }
}

/// A head of self-attention, whose queries and keys are tokens of one text.
void compare(Worst& worst, const HeadProfile& one, const nlohmann::json& right) {
  const auto queries = static_cast<double>(one.queries);
  REQUIRE(one.queries == right.at("queries").get<std::uint64_t>());
  worst.note(one.first / queries, right.at("first"));
  worst.note(one.self / queries, right.at("self"));
  worst.note(one.self_spread(), right.at("self_spread"));
  worst.note(one.mean_distance(), right.at("distance"));
  worst.note(one.distance_spread(), right.at("distance_spread"));
  for (std::uint32_t bin = 0; bin < kPlaceBins; ++bin) {
    worst.note((one.before[bin] + one.after[bin]) / one.all(), right.at("distances").at(bin));
    worst.note(one.positions[bin] / one.all(), right.at("positions").at(bin));
  }
  for (std::size_t line = 0; line < 31; ++line) {
    double row = 0.0, column = 0.0;
    for (std::size_t at = 0; at < 31; ++at) {
      const auto texts = static_cast<double>(one.texts[std::max(line, at)]);
      row += one.map[line * kMapTokens + at] / texts;
      column += one.map[at * kMapTokens + line] / texts;
    }
    worst.note(row, right.at("map_sums").at(0).at(line));
    worst.note(column, right.at("map_sums").at(1).at(line));
  }
  for (std::uint32_t far = 0; far < kNearBins; ++far) {
    const auto cells = static_cast<double>(one.cells[far]);
    const nlohmann::json &before = right.at("relative").at(32 - far), &after = right.at("relative").at(32 + far);
    CHECK((cells == 0.0) == before.is_null());
    if (before.is_null()) continue;
    worst.note(one.before[far] / cells, before);
    if (far > 0) worst.note(one.after[far] / cells, after);
  }
  compare(worst, one.query_tokens, right.at("query_tokens"));
  compare(worst, one.key_tokens, right.at("key_tokens"));
  compare(worst, one.pairs, right.at("pairs"));
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("bins of places") {
    for (std::uint32_t place = 0; place <= 32; ++place) CHECK(place_bin(place) == place);
    const std::vector<std::pair<std::uint32_t, std::uint32_t>> cases = {
        {33, 33}, {64, 33}, {65, 34}, {128, 34}, {129, 35}, {16384, 41}, {16385, 42}, {32768, 42}, {4000000000U, 42}};
    for (const auto& [place, bin] : cases) CHECK(place_bin(place) == bin);
    for (std::uint32_t bin = 0; bin < kPlaceBins; ++bin) {
      CHECK(place_bin(place_bin_end(bin)) == bin);
      CHECK(place_bin(place_bin_end(bin) + 1) == std::min(bin + 1, kPlaceBins - 1));
    }
  }

  TEST_CASE("a sketch of many tokens keeps the heavy ones, misses no more than it says, and is bounded") {
    std::mt19937 generator(5);
    std::map<std::uint64_t, double> exact;
    double all = 0.0;
    TokenSketch sum;
    for (int shard = 0; shard < 60; ++shard) {
      std::map<std::uint64_t, double> part;
      for (int i = 0; i < 900; ++i) {
        // Zipf's law over 5,000 tokens, more or less.
        const auto key =
            static_cast<std::uint64_t>(std::exp(std::uniform_real_distribution(0.0, std::log(5000.0))(generator)));
        const double mass = std::uniform_real_distribution(0.0, 1.0)(generator);
        part[key] += mass;
        exact[key] += mass;
        all += mass;
      }
      TokenSketch next(counts_of(part));
      TokenSketch other_way = next;
      other_way.merge(sum);
      sum.merge(next);
      CHECK(other_way == sum);
    }
    CHECK(exact.size() > 1000);
    CHECK(sum.counters().size() <= TokenSketch::kCounters);
    CHECK(sum.missed() > 0.0);
    CHECK(sum.missed() <= all / (TokenSketch::kCounters + 1));
    std::map<std::uint64_t, double> kept;
    for (const TokenCount& counter : sum.counters()) {
      kept[counter.key] = counter.mass;
      CHECK(counter.sure <= counter.mass + 1e-9);
    }
    for (const auto& [key, mass] : exact) {
      const double found = kept.contains(key) ? kept[key] : 0.0;
      CHECK(found <= mass + 1e-9);
      CHECK(found >= mass - sum.missed() - 1e-9);
    }
    const std::vector<TokenCount> heaviest = sum.heaviest(10);
    REQUIRE(heaviest.size() == 10);
    CHECK(std::ranges::is_sorted(heaviest, std::greater(), &TokenCount::mass));
    CHECK(TokenSketch(sum.counters(), sum.missed()) == sum);
  }

  TEST_CASE("a sketch that can't be is refused") {
    const TokenCount one{.key = 3, .mass = 1.0, .count = 1, .sure = 1.0};
    CHECK_NOTHROW(TokenSketch({one}, 0.5));
    CHECK_THROWS_AS(TokenSketch({one, one}, 0.0), Error);
    CHECK_THROWS_AS(TokenSketch({one}, -1.0), Error);
    CHECK_THROWS_AS(TokenSketch({{.key = 3, .mass = std::nan(""), .count = 1, .sure = 1.0}}, 0.0), Error);
    CHECK_THROWS_AS(TokenSketch({{.key = 3, .mass = 1.0, .count = 0, .sure = 1.0}}, 0.0), Error);
    CHECK_THROWS_AS(TokenSketch({{.key = 3, .mass = 1.0, .count = 1, .sure = 0.0}}, 0.0), Error);
  }

  TEST_CASE("profiles of random maps are plain sums") {
    std::mt19937 generator(8);
    const std::vector<std::uint32_t> sizes = {1, 2, 33, 64, 65, 129};
    std::vector<std::vector<std::uint32_t>> lines;
    for (const std::uint32_t size : sizes) {
      for (std::uint32_t i = 0; auto& id : lines.emplace_back(size)) id = i++ % 7;
    }
    ProfileMeter meter(2, lines);
    double distance = 0.0, self = 0.0, after = 0.0, corner = 0.0;
    std::array<double, kPlaceBins> by_distance = {}, by_position = {};
    std::map<std::uint64_t, double> given, got;
    std::uint64_t queries = 0;
    for (std::size_t line = 0; line < lines.size(); ++line) {
      const std::uint32_t n = sizes[line];
      std::vector<double> weights(std::size_t{n} * n);
      for (double& weight : weights) weight = std::uniform_real_distribution(0.0, 1.0)(generator);
      meter.add(1, line, {weights, n});
      queries += n;
      for (std::uint32_t q = 0; q < n; ++q) {
        for (std::uint32_t k = 0; k < n; ++k) {
          const double weight = weights[q * n + k];
          const std::uint32_t far = q > k ? q - k : k - q;
          distance += far * weight;
          self += q == k ? weight : 0.0;
          after += k > q ? weight : 0.0;
          by_distance[place_bin(far)] += weight;
          by_position[place_bin(k)] += weight;
          if (q == 31 && k == 30) corner += weight;
          if (k == 0) continue;
          given[lines[line][q]] += weight;
          got[lines[line][k]] += weight;
        }
      }
    }
    const std::vector<HeadProfile> found = meter.take();
    REQUIRE(found.size() == 2);
    CHECK(found[0] == HeadProfile());
    const HeadProfile& head = found[1];
    Worst worst;
    CHECK(head.queries == queries);
    CHECK(head.texts[31] == 4);
    CHECK(head.cells[32] == 1 + 32 + 33 + 97);
    worst.note(head.distance, distance);
    worst.note(head.self, self);
    worst.note(head.map[31 * kMapTokens + 30], corner);
    double found_after = 0.0;
    for (std::uint32_t bin = 0; bin < kPlaceBins; ++bin) {
      worst.note(head.before[bin] + head.after[bin], by_distance[bin]);
      worst.note(head.positions[bin], by_position[bin]);
      found_after += head.after[bin];
    }
    worst.note(found_after, after);
    for (const auto& [sketch, expected] : {std::pair{&head.query_tokens, &given}, std::pair{&head.key_tokens, &got}}) {
      REQUIRE(sketch->counters().size() == expected->size());
      for (const TokenCount& counter : sketch->counters()) worst.note(counter.mass, expected->at(counter.key));
    }
    CHECK(worst.worst() < 1e-12);  // observed 4e-15
    HeadProfile twice = head;
    twice.merge(head);
    CHECK(twice.queries == 2 * queries);
    CHECK(twice.mean_distance() == doctest::Approx(head.mean_distance()).epsilon(1e-14));
    CHECK(twice.pairs.counters().at(0).mass == 2 * head.pairs.counters().at(0).mass);
  }
}

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu,
                    "profiles of GPT-2, grouped queries and a bidirectional model are numpy's over transformers") {
    const nlohmann::json golden = test::golden("survey.json");
    for (const char* name : {"gpt2", "llama", "bert"}) {
      CAPTURE(std::string(name));
      const auto model = inference::open_model(test::golden_model_path(name));
      test::RunningSession session(context);
      const auto lines = golden.at(name).at("lines").get<std::vector<std::vector<std::uint32_t>>>();
      const std::uint32_t heads = model->description.heads;
      const nlohmann::json& expected = golden.at(name).at("heads");
      REQUIRE(expected.size() == std::size_t{model->description.layers} * heads);
      ProfileMeter meter(expected.size(), lines);
      visit_maps(session, *model, lines,
                 [&](model::BlockRef block, std::uint32_t head, std::size_t line, const WeightMap& map) {
                   meter.add(std::size_t{block.layer.value} * heads + head, line, map);
                 });
      const std::vector<HeadProfile> found = meter.take();
      Worst worst;
      for (std::size_t head = 0; head < found.size(); ++head) compare(worst, found[head], expected[head]);
      MESSAGE(std::string(name), ": ", worst.worst());
      CHECK(worst.worst() < 1e-5);  // observed 1.3e-6
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu,
                    "profiles and metrics of all heads of an encoder\u2013decoder are numpy's over transformers") {
    const nlohmann::json golden = test::golden("survey.json").at("marian");
    const auto model = inference::open_model(test::golden_model_path("marian"));
    test::RunningSession session(context);
    const auto lines = golden.at("lines").get<std::vector<std::vector<std::uint32_t>>>();
    const auto targets = golden.at("targets").get<std::vector<std::vector<std::uint32_t>>>();
    const HeadLayout layout{.layers = 2, .heads = 4, .decoder_layers = 2, .decoder_heads = 4};
    REQUIRE(layout.count() == 24);
    const std::vector<TokenRepeats> repeats(lines.begin(), lines.end()), target_repeats(targets.begin(), targets.end());
    const std::array metrics = {HeadMetric::Sink, HeadMetric::Concentration, HeadMetric::RelativeEntropy,
                                HeadMetric::Entropy};
    std::vector<std::array<double, 4>> sums(layout.count());
    ProfileMeter meter(layout.count(), lines, targets);
    visit_maps(
        session, *model, lines,
        [&](model::BlockRef block, std::uint32_t head, std::size_t line, const WeightMap& map) {
          const bool is_decoder = block.kind == model::BlockKind::DecoderSelf;
          CHECK(map.is_cross() == (block.kind == model::BlockKind::Cross));
          const HeadMetrics found = measure_map(map, map.is_cross() ? nullptr
                                                     : is_decoder   ? &target_repeats[line]
                                                                    : &repeats[line]);
          for (std::size_t i = 0; i < metrics.size(); ++i) {
            sums[layout.find(block, head)][i] += found.value(metrics[i]).value() / static_cast<double>(lines.size());
          }
          for (const HeadMetric none :
               {HeadMetric::PreviousToken, HeadMetric::DuplicateToken, HeadMetric::Induction, HeadMetric::Distance}) {
            if (map.is_cross()) CHECK_FALSE(found.value(none));
          }
          meter.add(layout.find(block, head), line, map, block.kind);
        },
        {}, {}, targets);
    const std::vector<HeadProfile> found = meter.take();
    Worst worst;
    for (std::size_t place = 0; place < found.size(); ++place) {
      const HeadRef of = layout.at(place);
      CHECK(layout.find(of.block, of.head) == place);
      const HeadProfile& one = found[place];
      const nlohmann::json& right =
          golden.at(std::string(model::to_string(of.block.kind))).at(of.block.layer.value * layout.heads + of.head);
      for (std::size_t i = 0; i < metrics.size(); ++i) {
        worst.note(sums[place][i], right.at("metrics").at(std::string(metric_name(metrics[i]))));
      }
      CHECK(one.has_distances() == (of.block.kind != model::BlockKind::Cross));
      if (one.has_distances()) {
        compare(worst, one, right);
        continue;
      }
      REQUIRE(one.queries == right.at("queries").get<std::uint64_t>());
      worst.note(one.first / static_cast<double>(one.queries), right.at("first"));
      for (std::uint32_t bin = 0; bin < kPlaceBins; ++bin) {
        worst.note(one.positions[bin] / one.all(), right.at("positions").at(bin));
      }
      for (std::size_t i = 0; i < 49; ++i) {  // every fifth row and column
        worst.note(one.map[i / 7 * 5 * kMapTokens + i % 7 * 5] / static_cast<double>(one.texts[0]), right.at("map").at(i));
      }
      double all = 0.0;
      for (const double weight : one.map) all += weight;
      worst.note(all / static_cast<double>(one.texts[0]), kMapTokens);  // rows of a stretched map sum to 1
      compare(worst, one.query_tokens, right.at("query_tokens"));
      compare(worst, one.key_tokens, right.at("key_tokens"));
      compare(worst, one.pairs, right.at("pairs"));
    }
    MESSAGE("marian: ", worst.worst());
    CHECK(worst.worst() < 1e-5);  // observed 1.9e-6
  }
}

}  // namespace head_profile_test
