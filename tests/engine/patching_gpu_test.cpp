// Activation patching: against PyTorch, in both directions, and its arithmetic.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "app/engine/analyses/patching.h"
#include "core/json.h"
#include "engine/two_runs.h"
#include "support/deviation.h"
#include "support/gpu.h"

namespace patching_gpu_test {

using namespace headlight;
using namespace headlight::app;

namespace {

/// All effects of a query that measures patches.
PatchEffects effects_of(TwoRuns& runs, const State& present, const State& baseline, const AnalysisQuery& query) {
  PatchEffects found = runs.find<PatchEffects>(present, baseline, query);
  REQUIRE(found.is_complete());
  return found;
}

/// The golden file's names of maps.
PatchingChoices choices_named(const std::string& name) {
  using model::Site;
  const std::map<std::string, PatchingChoices> choices{{"residual", {.map = PatchMap::Residual}},
                                                       {"attention", {.map = PatchMap::AttentionOutput}},
                                                       {"feed-forward", {.map = PatchMap::FeedForward}},
                                                       {"heads", {.map = PatchMap::Heads}},
                                                       {"queries", {.map = PatchMap::Heads, .part = Site::Query}},
                                                       {"keys", {.map = PatchMap::Heads, .part = Site::Key}},
                                                       {"values", {.map = PatchMap::Heads, .part = Site::Value}},
                                                       {"pattern", {.map = PatchMap::Heads, .part = Site::Weights}}};
  return choices.at(name);
}

model::BlockKind kind_named(const std::string& name) {
  return name == "encoder"   ? model::BlockKind::EncoderSelf
         : name == "decoder" ? model::BlockKind::DecoderSelf
                             : model::BlockKind::Cross;
}

const Ids kText = {5, 9, 2, 7, 5, 9, 11}, kOther = {5, 4, 2, 7, 5, 9, 11};

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("patches are PyTorch's, of decoders, an encoder and an encoder\u2013decoder") {
    const nlohmann::json golden = read_json(std::string(HEADLIGHT_GOLDEN_DIR) + "/patching.json");
    REQUIRE(golden.size() == 4);
    double farthest = 0.0;
    for (const auto& item : golden.items()) {
      const std::string& model = item.key();
      const nlohmann::json& expected = item.value();
      CAPTURE(model);
      TwoRuns runs;
      const auto ids = [&](const char* key) { return expected.at(key).get<Ids>(); };
      const auto number = [&](const char* key) { return expected.at(key).get<std::uint32_t>(); };
      const State present = text_of(model, ids("ids"), ids("target_ids")),
                  baseline = text_of(model, ids("other_ids"), ids("other_target_ids"));
      const auto check = [&](const PatchedNumbers& found, const nlohmann::json& right) {
        const auto logit = right[0].get<double>();
        test::raise_to(farthest, std::abs(found.logit - logit) / std::max(std::abs(logit), 1.0));
        CHECK(std::abs(found.logit - logit) <= 2e-5 * std::max(std::abs(logit), 1.0));  // observed 5.9e-6
        CHECK(std::abs(found.of(PatchMeasure::Probability) - right[1].get<double>()) <= 1e-5);
      };
      for (const nlohmann::json& map : expected.at("maps")) {
        const auto kind = map.at("kind").get<std::string>(), what = map.at("map").get<std::string>();
        CAPTURE(kind);
        CAPTURE(what);
        const model::BlockKind of = kind_named(kind);
        const MeasuredToken measured{.position = number("position"), .token = number("token"), .other = number("other")};
        const HeadRef head{.block = {.kind = of, .layer = LayerIndex{1}}, .head = 1};  // of the last layer
        const AnalysisQuery query = what == "weights"
                                        ? AnalysisQuery(weight_patching_query({}, head, measured))
                                        : AnalysisQuery(patching_query(choices_named(what), of, 0, measured.position,
                                                                       measured.token, measured.other));
        const PatchEffects found = effects_of(runs, present, baseline, query);
        check(found.target, expected.at("present"));
        check(found.source, expected.at("frozen"));
        const nlohmann::json& cells = map.at("cells");
        REQUIRE(found.rows() == cells.size());
        REQUIRE(found.columns == cells[0].size());
        for (std::size_t row = 0; row < cells.size(); ++row) {
          for (std::size_t column = 0; column < found.columns; ++column) {
            CAPTURE(row);
            CAPTURE(column);
            // A cell without numbers is a weight that the mask hides in both runs, so that nothing is put.
            CHECK((found.at(row, column) || what == "weights"));
            check(found.at(row, column).value_or(found.target), cells[row][column]);
          }
        }
      }
    }
    MESSAGE("farthest logit, relative: ", farthest);
  }

  TEST_CASE("both directions are one question: who is present and who is the baseline can change places") {
    TwoRuns runs;
    const State one = text_of("gpt2", kText), other = text_of("gpt2", kOther);
    for (const PatchMap map : {PatchMap::Residual, PatchMap::AttentionOutput, PatchMap::FeedForward, PatchMap::Heads}) {
      CAPTURE(static_cast<int>(map));
      const auto query = [&](bool into_baseline) {
        return patching_query({.map = map, .into_baseline = into_baseline}, model::BlockKind::EncoderSelf, 0, 6, 3, 8);
      };
      const PatchEffects into_present = effects_of(runs, one, other, query(false));
      const PatchEffects into_baseline = effects_of(runs, other, one, query(true));
      CHECK(into_present.target.logit != into_present.source.logit);
      CHECK(into_present.target.logit == into_baseline.target.logit);
      CHECK(into_present.source.logit == into_baseline.source.logit);
      REQUIRE(into_present.patched.size() == into_baseline.patched.size());
      for (std::size_t cell = 0; cell < into_present.patched.size(); ++cell) {
        const double difference = into_present.patched[cell]->logit - into_baseline.patched[cell]->logit;
        CHECK(std::abs(difference) <= test::between_tiles(1e-5));
      }
    }
  }

  TEST_CASE("what is the same in both runs changes no bit, the last layer's stream is all of what is left") {
    TwoRuns runs;
    const State one = text_of("gpt2", kText), other = text_of("gpt2", kOther);
    const PatchEffects found =
        effects_of(runs, one, other, patching_query({}, model::BlockKind::EncoderSelf, 0, 6, 3, std::nullopt));
    REQUIRE(found.layers.size() == 2);
    CHECK(found.at(0, 0)->logit == found.target.logit);  // token 0 sees no other
    CHECK(found.at(1, 0)->logit == found.target.logit);
    CHECK(found.at(0, 6)->logit == found.target.logit);  // before the first layer only token 1 differs
    CHECK(*found.recovery_at(0, 1, PatchMeasure::Logit) == 1.0);
    CHECK(*found.recovery_at(0, 1, PatchMeasure::Loss) == 1.0);
    // A head at the only token that differs below is the head at all tokens, up to there.
    const auto heads = [&](bool at_token, std::uint32_t token) {
      return effects_of(runs, one, other,
                        patching_query({.map = PatchMap::Heads, .token = token, .at_token = at_token},
                                       model::BlockKind::EncoderSelf, 0, 1, 3, std::nullopt));
    };
    const PatchEffects everywhere = heads(false, 1), there = heads(true, 1), elsewhere = heads(true, 0);
    for (std::size_t head = 0; head < there.columns; ++head) {
      CHECK(there.at(0, head)->logit == everywhere.at(0, head)->logit);
      CHECK(there.at(0, head)->logit != there.target.logit);
      CHECK(elsewhere.at(0, head)->logit == elsewhere.target.logit);
    }
  }

  TEST_CASE("texts of different numbers of lines are refused in words, and the run stays") {
    TwoRuns runs;
    const AnalysisQuery query = patching_query({}, model::BlockKind::EncoderSelf, 0, 2, 3, 8);
    State two_lines = text_of("gpt2", {5, 9, 2});
    two_lines.model().ids.push_back({5, 9});
    const EngineResult result = runs.ask(text_of("gpt2", kText), two_lines, {query});
    CHECK(result.error == "");
    CHECK(result.baseline_error == "the baseline has 2 × 3 queries and 3 keys, this run 1 × 7 and 7");
    CHECK(result.analysed(query) == nullptr);
  }

  TEST_CASE("what can't be patched is said in words") {
    TwoRuns runs;
    const State one = text_of("marian", kText, kText), other = text_of("marian", kText, kOther);
    const auto error = [&](PatchMap map, model::BlockKind kind, std::uint32_t position, std::uint32_t token) {
      const AnalysisQuery query = patching_query({.map = map}, kind, 0, position, token, std::nullopt);
      const EngineResult result = runs.ask(one, other, {query});
      REQUIRE(result.analysed(query));
      return result.analysed(query)->error;
    };
    using model::BlockKind;
    CHECK(error(PatchMap::Residual, BlockKind::Cross, 1, 3) ==
          "a decoder layer begins with its self-attention: choose Decoder");
    CHECK(error(PatchMap::FeedForward, BlockKind::DecoderSelf, 1, 3) ==
          "a decoder layer's feed-forward network follows its cross-attention: choose Cross");
    CHECK(error(PatchMap::Residual, BlockKind::DecoderSelf, 1000, 3) == "this run has no such prediction");
    CHECK(error(PatchMap::Residual, BlockKind::DecoderSelf, 1, 1'000'000) == "this run has no such prediction");
  }
}

TEST_SUITE("cpu") {
  TEST_CASE("recovery is the share of the way from the target to the source") {
    const auto numbers = [](double logit, double probability) {
      return PatchedNumbers{.logit = logit, .log_probability = std::log(probability)};
    };
    const PatchedNumbers target = numbers(-1.0, 0.2), source = numbers(3.0, 0.6);
    CHECK(*recovery(PatchMeasure::Logit, target, source, target) == 0.0);
    CHECK(*recovery(PatchMeasure::Logit, target, source, source) == 1.0);
    CHECK(*recovery(PatchMeasure::Logit, target, source, numbers(0.0, 0.3)) == doctest::Approx(0.25));
    CHECK(*recovery(PatchMeasure::Logit, target, source, numbers(-3.0, 0.3)) == doctest::Approx(-0.5));
    CHECK(*recovery(PatchMeasure::Probability, target, source, numbers(0.0, 0.3)) == doctest::Approx(0.25));
    CHECK(*recovery(PatchMeasure::Loss, target, source, numbers(0.0, 0.2 * std::sqrt(3.0))) == doctest::Approx(0.5));
    // There is nothing to recover.
    CHECK_FALSE(recovery(PatchMeasure::Logit, target, numbers(-1.00001, 0.6), source));
    CHECK_FALSE(recovery(PatchMeasure::Probability, target, numbers(3.0, 0.20001), source));
    CHECK(recovery(PatchMeasure::Probability, numbers(0.0, 1e-9), numbers(0.0, 2e-9), source));
    CHECK_FALSE(recovery(PatchMeasure::Probability, numbers(0.0, 0.0), numbers(0.0, 0.0), source));
    const double nan = std::numeric_limits<double>::quiet_NaN();
    CHECK_FALSE(recovery(PatchMeasure::Logit, target, source, numbers(nan, 0.1)));
    CHECK_FALSE(recovery(PatchMeasure::Logit, numbers(nan, 0.1), source, target));
  }

  TEST_CASE("numbers of a row of logits: a difference, a probability, a loss") {
    const std::vector<float> logits = {1.0F, 3.0F, 2.0F};
    const double sum = std::exp(1.0) + std::exp(3.0) + std::exp(2.0);
    CHECK(patched_numbers(logits, {.token = 1, .other = 0}).logit == 2.0);
    CHECK(patched_numbers(logits, {.token = 1, .other = 1}).logit == 3.0);
    CHECK(patched_numbers(logits, {.token = 1, .other = 0}).of(PatchMeasure::Probability) ==
          doctest::Approx(std::exp(3.0) / sum));
    CHECK(patched_numbers(logits, {.token = 2, .other = 0}).of(PatchMeasure::Loss) == doctest::Approx(std::log(sum) - 2.0));
  }

  TEST_CASE("the strongest patches of either sign come first, those that aren't known not at all") {
    PatchEffects effects;
    effects.target = {.logit = 0.0};
    effects.source = {.logit = 2.0};
    effects.layers = {0, 1};
    effects.columns = 2;
    effects.patched = {PatchedNumbers{.logit = 0.5}, PatchedNumbers{.logit = -1.0}, std::nullopt,
                       PatchedNumbers{.logit = 1.0}};
    const std::vector<PatchCell> expected = {
        {.row = 0, .column = 1, .recovery = -0.5}, {.row = 1, .column = 1, .recovery = 0.5}, {.recovery = 0.25}};
    CHECK(strongest_patches(effects, PatchMeasure::Logit, 9) == expected);
    CHECK(strongest_patches(effects, PatchMeasure::Logit, 1).size() == 1);
    CHECK(effects.can_recover(PatchMeasure::Logit));
    CHECK_FALSE(effects.can_recover(PatchMeasure::Probability));
  }
}

}  // namespace patching_gpu_test
