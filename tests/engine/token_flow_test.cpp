// The flow into a token, as the engine answers it, against the same arithmetic on all numbers at once.
#include "app/engine/analyses/token_flow.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "engine/asked_analysis.h"

namespace token_flow_test {

using namespace headlight;
using namespace headlight::app;

namespace {

constexpr std::uint32_t kToken = 4;

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("routes: every token that is reached is split, and nothing else") {
    for (const std::string model : {"gpt2", "llama"}) {
      CAPTURE(model);
      AskedAnalysis asked(model, "the cat sat on the mat");
      const FlowQuestion query{.position = kToken, .least = 40};
      const Analysed answer = asked.ask(query);
      REQUIRE(answer.error == "");
      const auto& found = found_in<TokenFlowFound>(answer);
      REQUIRE(found.shares.size() == found.layers);
      std::vector<std::uint32_t> reached{kToken};
      for (std::uint32_t layer = found.layers; layer-- > 0;) {
        std::vector<std::uint32_t> split;
        for (const attribution::TokenShares& token : found.shares[layer]) {
          split.push_back(token.token);
          CHECK(token.residual > 0.0);
          CHECK(token.mlp > 0.0);
          double listed = token.residual;
          for (const attribution::TermShare& term : token.terms) {
            CHECK(term.key <= token.token);  // causal
            CHECK(term.share >= 0.04);
            listed += term.share;
          }
          CHECK(listed <= 1.0 + 1e-9);
        }
        CHECK(split == reached);
        reached = attribution::reached_below(found.shares[layer], 0.04);
      }
      CHECK_FALSE(attribution::routes(found.shares, kToken, 0.04).empty());
    }
  }

  TEST_CASE("rollout and flow: mass is kept, and both are those of the mean weights") {
    AskedAnalysis asked("gpt2", "the cat sat on the mat");
    FlowQuestion query{.method = FlowMethod::Rollout, .position = kToken, .residual_weight = 500};
    const Analysed rollout = asked.ask(query);
    const auto& rolled = found_in<TokenFlowFound>(rollout);
    CHECK(std::accumulate(rolled.inputs.begin(), rolled.inputs.end(), 0.0) == doctest::Approx(1.0).epsilon(1e-5));
    for (std::size_t token = kToken + 1; token < rolled.inputs.size(); ++token) CHECK(rolled.inputs[token] == 0.0);
    CHECK_FALSE(rolled.edges.empty());

    query.method = FlowMethod::MaximumFlow;
    query.source = 1;
    const Analysed flow = asked.ask(query);
    const auto& flowing = found_in<TokenFlowFound>(flow);
    REQUIRE(flowing.inputs.size() == rolled.inputs.size());
    double into = 0.0;
    for (const attribution::FlowEdge& edge : flowing.edges) into += edge.layer == 0 && edge.from == 1 ? edge.share : 0.0;
    CHECK(into == doctest::Approx(flowing.inputs[1]).epsilon(0.05));  // but for edges that carry less than 0.01
    // No less flows to a token than rollout's paths bring: each carries at most what its edges do.
    for (std::uint32_t token = 0; token <= kToken; ++token) {
      query.source = token;
      const Analysed to_token = asked.ask(query);
      const auto& found = found_in<TokenFlowFound>(to_token);
      CHECK(found.inputs[token] >= rolled.inputs[token] - 1e-6);
      CHECK(found.inputs[kToken + 1] == 0.0);
    }
    // The residual stream has all of the flow: the token is alone.
    query.residual_weight = 1000;
    query.source = kToken;
    const Analysed alone = asked.ask(query);
    CHECK(found_in<TokenFlowFound>(alone).inputs[kToken] == doctest::Approx(1.0));
    query.source = 1;
    const Analysed other = asked.ask(query);
    CHECK(found_in<TokenFlowFound>(other).inputs[1] == 0.0);
  }

  TEST_CASE("longer texts: flow as far as its pipes have room, and the limit is said") {
    CHECK(most_flow_tokens(4) == 1'448);
    CHECK(most_flow_tokens(12) == 647);
    CHECK(most_flow_tokens(1) == 2'048);
    std::string text;
    for (int i = 0; i < 30; ++i) text += "the cat sat ";  // 90 words
    AskedAnalysis asked("llama", text);
    const FlowQuestion query{.method = FlowMethod::MaximumFlow, .position = 70, .residual_weight = 500, .source = 1};
    const Analysed answer = asked.ask(query);
    REQUIRE(answer.error == "");
    CHECK(found_in<TokenFlowFound>(answer).inputs[1] > 0.0);
  }

  TEST_CASE("routes of a thousand tokens: what is reached alone is computed") {
    std::string text;
    for (int i = 0; i < 340; ++i) text += "the cat sat ";  // 1,020 words
    AskedAnalysis asked("llama", text);
    const FlowQuestion query{.position = 1'000, .least = 40};
    const Analysed answer = asked.ask(query);
    REQUIRE(answer.error == "");
    const auto& found = found_in<TokenFlowFound>(answer);
    REQUIRE(found.shares.size() == 2);
    std::size_t tokens = 0;
    for (const auto& layer : found.shares) tokens += layer.size();
    CHECK(tokens > 1);
    CHECK(tokens < 200);  // of 2 × 1,020
    CHECK(asked.result.input->source.length > 1'000);
  }

  TEST_CASE("what can't be followed is said in words") {
    FlowQuestion query{.position = 1, .least = 40};
    CHECK(AskedAnalysis("bert", "the cat").ask(query).error.find("post-norm") != std::string::npos);
    CHECK(AskedAnalysis("marian", "a b a").ask(query).error.find("an encoder and a decoder") != std::string::npos);
    query.method = FlowMethod::Rollout;
    CHECK(AskedAnalysis("bert", "the cat").ask(query).error == "");
    CHECK(AskedAnalysis("marian", "a b a").ask(query).error == "only models with one stack are followed");
    query.position = 500;
    CHECK(AskedAnalysis("gpt2", "the cat").ask(query).error == "this run has no such token");
  }
}

}  // namespace token_flow_test
