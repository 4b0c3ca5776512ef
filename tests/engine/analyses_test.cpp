// Analyses: how the engine answers them, and what each finds.
#include "app/engine/analyses/analysis_query.h"

#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "app/engine/analyses/head_knockouts.h"
#include "app/engine/analyses/head_similarity.h"
#include "app/engine/analyses/patching.h"
#include "app/engine/analyses/residual_sizes.h"
#include "app/engine/analyses/token_losses.h"
#include "app/engine/engine_worker.h"
#include "core/error.h"
#include "engine/asked_analysis.h"
#include "engine/fake_runner.h"
#include "engine/reference_runner.h"
#include "support/golden.h"

namespace analyses_test {

using namespace headlight;
using namespace headlight::app;

/// A question that the product doesn't know.
struct LengthQuestion {
  std::uint32_t more = 0;
  auto operator<=>(const LengthQuestion&) const = default;
};
struct LengthFound final : AnalysisResult {
  std::uint32_t length = 0;
};
Task<LengthFound> analyse(LengthQuestion question, AnalysisSubject subject) {
  co_await read_nothing();
  LengthFound found;
  found.length = subject.input->source.length + question.more;
  co_return found;
}

namespace {

State playground() {
  State state;
  state.text() = "one two three four five";
  state.playground().settings.d_model = 12;
  state.playground().settings.heads = 3;
  state.playground().settings.layers = 2;
  return state;
}

EngineRequest request(std::uint64_t revision, const State& state, std::vector<Query> queries) {
  return {.revision = revision, .inputs = run_inputs(state), .queries = std::move(queries)};
}

EngineWorker worker_of(RunnerFactory open) {
  return EngineWorker({.open = std::move(open),
                       .tile_bytes = kDefaultTileBytes,
                       .models = std::make_shared<ModelCache>(),
                       .watch_load = [](std::size_t, std::size_t) { return true; }});
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a question that has an analyse() is answered, and no list names it") {
    AskedAnalysis asked("gpt2");
    const std::uint32_t length = found_in<LengthFound>(asked.ask(LengthQuestion())).length;
    CHECK(length > 0);
    CHECK(found_in<LengthFound>(asked.ask(LengthQuestion{.more = 3})).length == length + 3);
    const AnalysisQuery query = LengthQuestion{.more = 3};
    REQUIRE(query.as<LengthQuestion>());
    CHECK(query.as<LengthQuestion>()->more == 3);
    CHECK(query.as<KnockoutsQuestion>() == nullptr);
    CHECK(AnalysisQuery(LengthQuestion()) < query);
  }

  TEST_CASE("equal questions are equal, and those that read the baseline say so") {
    const AnalysisQuery metrics = HeadMetricsQuestion{.batch = 1};
    CHECK(metrics == AnalysisQuery(HeadMetricsQuestion{.batch = 1}));
    CHECK(metrics != AnalysisQuery(HeadMetricsQuestion{.batch = 1}, true));
    CHECK(metrics != AnalysisQuery(SimilarityQuestion{.batch = 1}));
    CHECK((metrics < AnalysisQuery(SimilarityQuestion())) != (AnalysisQuery(SimilarityQuestion()) < metrics));
    CHECK(AnalysisQuery() != metrics);
    CHECK(AnalysisQuery() == AnalysisQuery());
    CHECK_FALSE(metrics.compares());
    CHECK(AnalysisQuery(PatchingQuestion()).compares());
    CHECK_FALSE(AnalysisQuery(KnockoutsQuestion()).compares());
    CHECK(AnalysisQuery(KnockoutsQuestion{.ablation = Ablation::BaselineMean}).compares());
  }

  TEST_CASE("the sizes of the residual stream are those of the states, layer by layer") {
    const AnalysisQuery sizes = ResidualSizesQuestion();
    EngineWorker worker = worker_of(open_reference_runner);
    worker.open("");
    worker.begin(request(1, playground(), {sizes}));
    std::size_t known = 0;
    while (worker.has_more()) {
      worker.evaluate_some();
      const EngineResult so_far = worker.snapshot();
      const Analysed* answer = so_far.analysed(sizes);
      REQUIRE(answer);
      const auto* found = answer->as<ResidualSizes>();
      REQUIRE(found);
      CHECK(found->lengths.size() == known + 5);  // a layer more
      known = found->lengths.size();
      CHECK(answer->is_done == !worker.has_more());
    }
    const EngineResult result = worker.snapshot();
    const Analysed* answer = result.analysed(sizes);
    REQUIRE(answer);
    CHECK(answer->run == result.run);
    const auto* found = answer->as<ResidualSizes>();
    REQUIRE(found);
    REQUIRE(found->lengths.size() == 3 * 5);
    RunSource sources;
    const RunSource::Source& source = sources.build(run_inputs(playground()));
    const ReferenceRun run(inference::PassInputs{
        .network = source.network, .input = *source.input, .masks = playground().masks, .interventions = {}});
    for (std::uint32_t layer = 0; layer <= 2; ++layer) {
      const inference::ResidualRows rows{.layer = layer, .count = 5};
      const Tensor states = run.residuals({&rows, 1}).front();
      for (std::size_t token = 0; token < 5; ++token) {
        double sum = 0.0;
        for (std::size_t i = 0; i < 12; ++i) sum += std::pow(double{states.values[token * 12 + i]}, 2.0);
        CHECK(std::abs(double{found->lengths[layer * 5 + token]} - std::sqrt(sum)) <= 1e-6 * std::sqrt(sum));
      }
    }
  }

  TEST_CASE("the largest activations are those of the states, and massive as the paper has it") {
    const AnalysisQuery query = LargestActivationsQuestion();
    EngineWorker worker = worker_of(open_reference_runner);
    worker.open("");
    worker.begin(request(1, playground(), {query, LargestActivationsQuestion{{.batch = 7}}}));
    while (worker.has_more()) worker.evaluate_some();
    const EngineResult result = worker.snapshot();
    CHECK(result.analysed(LargestActivationsQuestion{{.batch = 7}})->error == "this run has no such layers");
    const auto* found = result.analysed(query)->as<LargestActivations>();
    REQUIRE(found);
    REQUIRE(found->states.size() == 3);
    RunSource sources;
    const RunSource::Source& source = sources.build(run_inputs(playground()));
    const ReferenceRun run(inference::PassInputs{
        .network = source.network, .input = *source.input, .masks = playground().masks, .interventions = {}});
    for (std::uint32_t layer = 0; layer <= 2; ++layer) {
      const inference::ResidualRows rows{.layer = layer, .count = 5};
      const Tensor states = run.residuals({&rows, 1}).front();
      REQUIRE(found->states[layer].largest.size() == 5);
      std::vector<float> sizes;
      for (std::size_t token = 0; token < 5; ++token) {
        const Activation& x = found->states[layer].largest[token];
        CHECK(x.token == token);
        CHECK(x.value == states.values[token * 12 + x.dimension]);
        for (std::size_t i = 0; i < 12; ++i) {
          CHECK(std::abs(states.values[token * 12 + i]) <= x.size());
          sizes.push_back(std::abs(states.values[token * 12 + i]));
        }
      }
      std::ranges::sort(sizes);
      CHECK(found->states[layer].median == sizes[29]);
      REQUIRE(found->states[layer].top.size() == 3);
      for (std::size_t i = 0; i < 3; ++i) CHECK(found->states[layer].top[i].size() == sizes[59 - i]);
    }

    std::vector<float> states(64, 0.05F);  // 2 tokens
    states[3] = -100.0F;
    states[40] = 120.0F;
    states[41] = -120.0F;
    const LayerActivations by_hand = largest_activations(states, 32, 7);
    CHECK(by_hand.median == 0.05F);
    CHECK(by_hand.largest[0].dimension == 3);
    CHECK(by_hand.largest[1].dimension == 8);  // the first of equal ones
    CHECK(by_hand.largest[1].token == 8);
    CHECK(by_hand.top[2].token == 7);
    CHECK_FALSE(by_hand.is_massive(by_hand.largest[0]));  // 100 isn't above 100
    CHECK(by_hand.is_massive(by_hand.largest[1]));
    std::ranges::fill(states, 0.125F);
    states[40] = 120.0F;
    CHECK_FALSE(largest_activations(states, 32, 7).is_massive({.value = 120.0F}));  // 960 times the median
    states[5] = std::numeric_limits<float>::quiet_NaN();
    CHECK_THROWS_AS(largest_activations(states, 32, 7), Error);
  }

  TEST_CASE("losses are those of transformers' probabilities, and padding and lines that aren't there say so") {
    double farthest = 0.0;
    for (const nlohmann::json& golden : test::golden("lens/cells.json")) {
      const std::string name = golden.at("model");
      CAPTURE(name);
      AskedAnalysis asked(name, "");
      const auto ids = golden.at("ids").get<std::vector<std::uint32_t>>();
      const nlohmann::json& last = golden.at("logit").back();
      for (std::size_t count = 1; count < ids.size(); ++count) {
        std::vector<std::uint32_t> text(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count));
        text.push_back(golden.at("ranked"));  // whose probability is known at each position
        asked.state.model().ids = {text};
        const Analysed answer = asked.ask(TokenLossesQuestion());
        const auto& found = found_in<TokenLosses>(answer);
        REQUIRE(found.losses.size() == count);
        CHECK(found.first == 1);
        const double expected = -std::log(last[count - 1].at("probability").get<double>());
        farthest = std::max(farthest, std::abs(found.losses.back() - expected));
      }
      CHECK(asked.ask(TokenLossesQuestion{.batch = 3}).error == "this run predicts no tokens");
    }
    CHECK(farthest < 4e-6);  // observed 7.8e-7: probabilities are stored as float32
  }

  TEST_CASE("the in-context score is of tenths, or of tokens 50 and 500") {
    std::vector<double> losses;
    for (int i = 0; i < 19; ++i) losses.push_back(i);
    CHECK_FALSE(in_context_score(losses));
    losses.push_back(19.0);
    CHECK(in_context_score(losses)->score == 18.5 - 2.5);
    CHECK_FALSE(in_context_score(losses)->is_of_tokens);
    while (losses.size() < 499) losses.push_back(1.0);
    CHECK_FALSE(in_context_score(losses)->is_of_tokens);
    losses.push_back(0.25);
    CHECK(in_context_score(losses)->is_of_tokens);
    CHECK(in_context_score(losses)->score == 0.25 - 1.0);
    CHECK(running_means(std::vector{2.0, 4.0, 0.0}) == std::vector{2.0, 3.0, 2.0});
  }

  TEST_CASE("an analysis that can't be done says why, and nothing else fails") {
    const AnalysisQuery of_no_item = ResidualSizesQuestion{.batch = 7};
    const AnalysisQuery of_no_decoder = ResidualSizesQuestion{.kind = model::BlockKind::DecoderSelf};
    const TileQuery tile{.rows = 5, .columns = 5};
    EngineWorker worker = worker_of(open_reference_runner);
    worker.open("");
    worker.begin(request(1, playground(), {of_no_item, tile, of_no_decoder}));
    while (worker.has_more()) worker.evaluate_some();
    const EngineResult result = worker.snapshot();
    CHECK(result.error == "");
    CHECK(result.tile(tile) != nullptr);
    for (const AnalysisQuery& query : {of_no_item, of_no_decoder}) {
      const Analysed* answer = result.analysed(query);
      REQUIRE(answer);
      CHECK(answer->error == "this run has no such layers");
      CHECK(answer->result == nullptr);
      CHECK(answer->is_done);
    }
  }

  TEST_CASE("findings of the previous run stay until there are new ones, of another network they go") {
    const AnalysisQuery sizes = ResidualSizesQuestion();
    EngineWorker worker = worker_of(open_reference_runner);
    worker.open("");
    State state = playground();
    worker.begin(request(1, state, {sizes}));
    while (worker.has_more()) worker.evaluate_some();
    state.text() += " six";
    worker.begin(request(2, state, {sizes}));
    const EngineResult later = worker.snapshot();
    REQUIRE(later.analysed(sizes));
    CHECK(later.analysed(sizes)->run == 1);
    CHECK(later.run == 2);
    while (worker.has_more()) worker.evaluate_some();
    CHECK(worker.snapshot().analysed(sizes)->run == 2);
    CHECK(worker.snapshot().analysed(sizes)->as<ResidualSizes>()->tokens == 6);
    state.playground().settings.seed += 1;
    worker.begin(request(3, state, {sizes}));
    CHECK(worker.snapshot().analysed(sizes) == nullptr);
    worker.begin(request(4, state, {}));
    CHECK(!worker.has_more());
  }

  TEST_CASE("what is on screen is answered before any analysis") {
    const AnalysisQuery sizes = ResidualSizesQuestion();
    const TileQuery tile{.rows = 5, .columns = 5};
    EngineWorker worker = worker_of(open_reference_runner);
    worker.open("");
    worker.begin(request(1, playground(), {sizes, tile}));
    worker.evaluate_some();
    CHECK(worker.snapshot().tile(tile) != nullptr);
    CHECK(worker.snapshot().analysed(sizes) == nullptr);
  }
}

}  // namespace analyses_test
