// The parts of a logit, asked of the engine.
#include "app/engine/analyses/logit_attribution.h"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "engine/asked_analysis.h"

namespace logit_attribution_test {

using namespace headlight;
using namespace headlight::app;

namespace {

double sum_of(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("the parts sum to the logit, and source tokens to the heads that bring them") {
    for (const std::string model : {"gpt2", "llama"}) {
      CAPTURE(model);
      AskedAnalysis asked(model);
      for (const std::uint32_t other : {0U, 5U}) {
        CAPTURE(other);
        LogitQuestion parts{.position = 3, .token = 9};
        if (other != 0) parts.other = other;
        const Analysed answer = asked.ask(parts);
        REQUIRE(answer.error == "");
        const auto& found = found_in<LogitAttribution>(answer);
        REQUIRE(found.is_complete());
        CHECK(std::abs(found.sum() - found.logit) <= 1e-4 * std::max(std::abs(found.logit), 1.0));
        double heads = 0.0;
        for (const attribution::LayerLogits& layer : found.layers) heads += sum_of(layer.heads);
        const double one = found.layers[1].heads[2];

        LogitSourcesQuestion sources{parts};
        const Analysed of_all = asked.ask(sources);
        CHECK(sum_of(found_in<LogitSources>(of_all).tokens) == doctest::Approx(heads).epsilon(1e-4));
        sources.head = HeadRef{.block = encoder_block(1), .head = 2};
        const Analysed of_one = asked.ask(sources);
        const std::vector<double>& tokens = found_in<LogitSources>(of_one).tokens;
        CHECK(sum_of(tokens) == doctest::Approx(one).epsilon(1e-4));
        for (std::size_t token = 4; token < tokens.size(); ++token) CHECK(tokens[token] == 0.0);  // not visible
      }
    }
  }

  TEST_CASE("what has no parts and what there isn't is said in words") {
    AskedAnalysis bert("bert");
    const LogitQuestion parts{.position = 1, .token = 3};
    CHECK(bert.ask(parts).error.find("post-norm") != std::string::npos);
    AskedAnalysis gpt2("gpt2");
    LogitQuestion wrong = parts;
    wrong.position = 10'000;
    CHECK(gpt2.ask(wrong).error == "this run has no such prediction");
    wrong = parts;
    wrong.token = 1'000'000;
    CHECK(gpt2.ask(wrong).error == "this run has no such prediction");
    CHECK(gpt2.ask(LogitSourcesQuestion{parts, HeadRef{.block = {}, .head = 99}}).error == "this run has no such head");
  }
}

}  // namespace logit_attribution_test
