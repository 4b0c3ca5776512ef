// What flows into a token, asked of the engine, against the same arithmetic on all numbers at once.
#include "app/analyses/token_flow.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>

#include "app/engine/engine_worker.h"
#include "core/error.h"
#include "engine/reference_runner.h"

using namespace headlight;
using namespace headlight::app;

namespace {

/// Runs a model's text, and answers questions of it.
struct Asked {
  Asked(const std::string& model, const std::string& text) {
    worker.open("");
    state.text() = text;
    change_to_model(state, std::string(HEADLIGHT_GOLDEN_DIR) + "/models/" + model);
    state.masks[model::BlockKind::EncoderSelf].rule.causal = true;
  }

  Analysed ask(const AnalysisQuery& query) {
    worker.begin({.revision = ++revision, .inputs = run_inputs(state), .queries = {query}});
    while (worker.has_more()) worker.evaluate_some();
    result = worker.snapshot();
    REQUIRE(result.error == "");
    const Analysed* answer = result.analysed(query);
    REQUIRE(answer);
    REQUIRE(answer->is_done);
    return *answer;
  }

  EngineWorker worker{{.open = open_reference_runner,
                       .tile_bytes = kDefaultTileBytes,
                       .models = std::make_shared<ModelCache>(),
                       .watch_load = [](std::size_t, std::size_t) { return true; }}};
  State state;
  EngineResult result;
  std::uint64_t revision = 0;
};

/// What was found; throws Error where nothing was.
template <typename Result>
const Result& found_in(const Analysed& answer) {
  const Result* found = answer.as<Result>();
  if (!found) throw Error("nothing was found: {}", answer.error);
  return *found;
}

constexpr std::uint32_t kToken = 4;

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("routes: every token that is reached is split, and nothing else") {
    for (const std::string model : {"gpt2", "llama"}) {
      CAPTURE(model);
      Asked asked(model, "the cat sat on the mat");
      AnalysisQuery query{.analysis = &kFlowRoutes, .query = kToken};
      query.options[0] = 40;
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
    Asked asked("gpt2", "the cat sat on the mat");
    AnalysisQuery query{.analysis = &kAttentionRollout, .query = kToken};
    query.options[0] = 500;
    const Analysed rollout = asked.ask(query);
    const auto& rolled = found_in<TokenFlowFound>(rollout);
    CHECK(std::accumulate(rolled.inputs.begin(), rolled.inputs.end(), 0.0) == doctest::Approx(1.0).epsilon(1e-5));
    for (std::size_t token = kToken + 1; token < rolled.inputs.size(); ++token) CHECK(rolled.inputs[token] == 0.0);
    CHECK_FALSE(rolled.edges.empty());

    query.analysis = &kAttentionFlow;
    query.options[1] = 1;
    const Analysed flow = asked.ask(query);
    const auto& flowing = found_in<TokenFlowFound>(flow);
    REQUIRE(flowing.inputs.size() == rolled.inputs.size());
    double into = 0.0;
    for (const attribution::FlowEdge& edge : flowing.edges) into += edge.layer == 0 && edge.from == 1 ? edge.share : 0.0;
    CHECK(into == doctest::Approx(flowing.inputs[1]).epsilon(0.05));  // but for edges that carry less than 0.01
    // No more flows to a token than rollout's paths could bring: each carries at most what its edges do.
    for (std::size_t token = 0; token <= kToken; ++token) CHECK(flowing.inputs[token] >= rolled.inputs[token] - 1e-6);
    // All of the residual stream: the token alone.
    query.options[0] = 1000;
    const Analysed alone = asked.ask(query);
    CHECK(found_in<TokenFlowFound>(alone).inputs[kToken] == doctest::Approx(1.0));
    CHECK(found_in<TokenFlowFound>(alone).inputs[1] == 0.0);
  }

  TEST_CASE("what can't be followed is said in words") {
    AnalysisQuery query{.analysis = &kFlowRoutes, .query = 1};
    query.options[0] = 40;
    CHECK(Asked("bert", "the cat").ask(query).error.find("post-norm") != std::string::npos);
    CHECK(Asked("marian", "a b a").ask(query).error.find("an encoder and a decoder") != std::string::npos);
    query.analysis = &kAttentionRollout;
    CHECK(Asked("bert", "the cat").ask(query).error == "");
    CHECK(Asked("marian", "a b a").ask(query).error == "only models with one stack are followed");
    query.query = 500;
    CHECK(Asked("gpt2", "the cat").ask(query).error == "this run has no such token");
  }
}
