// Head scores of whole models: means over texts of the pure functions' scores of each map.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>

#include <doctest/doctest.h>

#include "evaluation/head_metric.h"
#include "evaluation/head_survey.h"
#include "inference/prompt.h"
#include "support/error_message.h"
#include "support/golden_language_model.h"
#include "support/gpu.h"
#include "support/running_session.h"

namespace head_survey_gpu_test {

using namespace headlight;
using namespace headlight::evaluation;

namespace {

std::vector<double> map_of(const Tensor& weights, std::uint32_t head) {
  const std::size_t cells = std::size_t{weights.axis(2)} * weights.axis(3);
  const auto begin = weights.values.begin() + static_cast<std::ptrdiff_t>(head * cells);
  return {begin, begin + static_cast<std::ptrdiff_t>(cells)};
}

/// Mean of the first column of a map [n, n].
double sink_share(const std::vector<double>& map, std::size_t n) {
  double sum = 0.0;
  for (std::size_t query = 0; query < n; ++query) sum += map[query * n];
  return sum / static_cast<double>(n);
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("random tokens come twice, without special ones, and are the same on every machine") {
    const auto gpt2 = test::open_golden_model("gpt2");
    const auto sequences = random_repeats(*gpt2, {.sequences = 3, .span = 5, .seed = 1});
    REQUIRE(sequences.size() == 3);
    std::set<std::uint32_t> seen;
    for (const auto& ids : sequences) {
      REQUIRE(ids.size() == 10);
      CHECK(std::equal(ids.begin(), ids.begin() + 5, ids.begin() + 5));
      seen.insert(ids.begin(), ids.end());
    }
    CHECK(seen.size() > 8);
    CHECK_FALSE(seen.contains(gpt2->description.ids.bos.value()));
    CHECK(random_repeats(*gpt2, {.sequences = 3, .span = 5, .seed = 1}) == sequences);
    CHECK(random_repeats(*gpt2, {.sequences = 3, .span = 5, .seed = 2}) != sequences);
    CHECK(test::error_message([&] { random_repeats(*gpt2, {.span = 17}); }) ==
          "17 random tokens twice are more than the model's 32 positions: choose at most 16");
  }
}

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "a survey is the mean over texts that have the pattern, regardless of their batches") {
    const std::vector<std::string> lines = {"the cat sat on the mat the cat", "the cat", "on the mat on the mat"};
    for (const PatternScoring scoring :
         {PatternScoring{}, PatternScoring{.measure = PatternMeasure::Mul, .exclusions = {.first_token = true}}}) {
      for (const char* name : {"gpt2", "llama", "bert"}) {
        CAPTURE(name);
        const auto model = test::open_golden_model(name);
        test::RunningSession session(context);
        const auto scores = survey_texts(session, *model, lines, scoring);
        REQUIRE(scores.size() == std::size_t{model->description.layers} * model->description.heads);
        std::vector<std::array<std::vector<double>, kHeadMetrics>> found(scores.size());
        for (const std::string& line : lines) {
          const auto one = survey_texts(session, *model, std::span(&line, 1), scoring);
          for (std::size_t i = 0; i < one.size(); ++i) {
            for (std::size_t metric = 0; metric < kHeadMetrics; ++metric) {
              if (one[i].means[metric]) found[i][metric].push_back(*one[i].means[metric]);
            }
          }
        }
        for (std::size_t i = 0; i < found.size(); ++i) {
          CHECK(found[i][static_cast<std::size_t>(HeadMetric::Induction)].size() == 2);  // "the cat" has no repeats
          for (std::size_t metric = 0; metric < kHeadMetrics; ++metric) {
            const std::vector<double>& values = found[i][metric];
            REQUIRE(scores[i].means[metric]);
            const double mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
            CHECK(std::abs(*scores[i].means[metric] - mean) < 1e-5);
          }
        }
      }
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "evenness counts the keys that a layer's own window leaves") {
    const auto model = test::open_golden_model("mistral");
    const model::AttentionConfig& config = model->network->layer({model::BlockKind::EncoderSelf, LayerIndex{0}}).config;
    REQUIRE(config.window > 0);
    test::RunningSession session(context);
    const RandomTokens settings = {.sequences = 1, .span = 10, .seed = 5};
    const auto scores = survey_random(session, *model, settings);
    const inference::PromptText text = {.lines = {}, .ids = random_repeats(*model, settings)};
    session.run(model->network, inference::make_prompt(*model, text).input, model->masks);
    const Tensor weights = session.stage({model::BlockKind::EncoderSelf, LayerIndex{0}}, attention::Stage::Weights);
    const std::uint32_t n = 20;
    REQUIRE(n > config.window);
    const std::vector<double> map = map_of(weights, 0);
    double sum = 0.0;
    for (std::uint32_t query = 1; query < n; ++query) {
      double entropy = 0.0;
      for (std::uint32_t key = 0; key < n; ++key) {
        const double weight = map[std::size_t{query} * n + key];
        if (weight > 0.0) entropy -= weight * std::log(weight);
      }
      sum += entropy / std::log(std::min(query + 1, config.window));
    }
    CHECK(std::abs(*scores[0].mean(HeadMetric::RelativeEntropy) - sum / (n - 1)) < 1e-6);
  }

  TEST_CASE_FIXTURE(test::OnGpu, "a head's stripes are those of its own map") {
    const auto model = test::open_golden_model("gpt2");
    test::RunningSession session(context);
    const RandomTokens settings = {.sequences = 1, .span = 7, .seed = 5};
    const auto scores = survey_random(session, *model, settings);
    const inference::PromptText text = {.lines = {}, .ids = random_repeats(*model, settings)};
    const auto prompt = inference::make_prompt(*model, text);
    session.run(model->network, prompt.input, model->masks);
    for (const HeadScore& score : scores) {
      const Tensor weights =
          session.stage({model::BlockKind::EncoderSelf, LayerIndex{score.layer}}, attention::Stage::Weights);
      const std::vector<double> map = map_of(weights, score.head);
      const StripeScores stripes = stripe_scores({map, 14});
      const auto is_near = [&](HeadMetric metric, double expected) {
        return score.mean(metric) && std::abs(*score.mean(metric) - expected) < 1e-9;
      };
      CHECK(is_near(HeadMetric::PreviousToken, stripes.previous_token));
      CHECK(is_near(HeadMetric::DuplicateToken, stripes.duplicate_token));
      CHECK(is_near(HeadMetric::Induction, stripes.induction));
      CHECK(is_near(HeadMetric::Sink, sink_share(map, 14)));
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "what can't be surveyed is one line") {
    test::RunningSession session(context);
    const std::vector<std::string> lines = {"the cat"};
    const auto complaint = [&](std::string_view name, const std::vector<std::string>& texts) {
      return test::error_message([&] { survey_texts(session, *test::open_golden_model(name), texts, {}); });
    };
    CHECK(complaint("marian", lines) ==
          "Marian has an encoder and a decoder: head scores are defined for a model with one stack");
    CHECK(complaint("gpt2", {}) == "there is no text: give a line at least");
    std::string many;
    for (int i = 0; i < 40; ++i) many += " cat";
    CHECK(complaint("gpt2", {"the", many}).starts_with("line 2: "));
  }
}

}  // namespace head_survey_gpu_test
