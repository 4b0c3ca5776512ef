// The effects of knocking out heads: against each knock-out alone, and against PyTorch.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "app/engine/analyses/head_knockouts.h"
#include "app/engine/engine_worker.h"
#include "app/engine/gpu_runner.h"
#include "core/json.h"
#include "engine/asked_analysis.h"
#include "engine/fake_runner.h"

namespace head_knockouts_gpu_test {

using namespace headlight;
using namespace headlight::app;

namespace {

/// The engine on a device, and a session of its own beside it.
struct Desk {
  EngineWorker worker{{.open = open_gpu_runner,
                       .tile_bytes = kDefaultTileBytes,
                       .models = std::make_shared<ModelCache>(),
                       .watch_load = [](std::size_t, std::size_t) { return true; }}};
  GpuRunner alone{""};
  std::uint64_t revision = 0;
  std::optional<State> baseline = {};

  Desk() { worker.open(""); }

  EngineResult ask(const State& state, std::vector<Query> queries) {
    worker.begin({.revision = ++revision,
                  .inputs = run_inputs(state),
                  .queries = std::move(queries),
                  .baseline = baseline ? std::optional(run_inputs(*baseline)) : std::nullopt});
    while (worker.has_more()) worker.evaluate_some();
    EngineResult result = worker.snapshot();
    REQUIRE(result.error == "");
    return result;
  }

  HeadKnockouts knockouts(const State& state, const AnalysisQuery& query) {
    const EngineResult result = ask(state, {query});
    REQUIRE(result.analysed(query));
    const auto& found = found_in<HeadKnockouts>(*result.analysed(query));
    REQUIRE(found.is_complete());
    return found;
  }

  /// Logits [token, vocabulary] of a pass of its own, nothing shared.
  Tensor logits(const State& state) {
    RunSource sources;
    const RunSource::Source& source = sources.build(run_inputs(state));
    alone.load(source.network->layers, inference::Precision::F32, {});
    return alone
        .run({.network = source.network,
              .input = *source.input,
              .masks = state.masks,
              .interventions = inference::interventions_of(state.gains, *source.network)},
             nullptr)
        ->logits();
  }
};

State model_state(const std::string& model, const std::vector<std::uint32_t>& ids,
                  const std::vector<std::uint32_t>& target_ids = {}) {
  State state;
  const std::string path = std::string(HEADLIGHT_GOLDEN_DIR) + "/models/" + model;
  select_model(state, path, inference::open_model(path)->masks);
  state.model().ids = {ids};
  if (!target_ids.empty()) state.model().target_ids = {target_ids};
  return state;
}

double log_probability(std::span<const float> logits, std::uint32_t token) {
  double sum = 0.0;
  for (const float logit : logits) sum += std::exp(double{logit});
  return double{logits[token]} - std::log(sum);
}

/// Computes the numbers of a row of logits and of a whole text in plain code.
PredictedNumbers numbers_of(const Tensor& logits, const std::vector<std::uint32_t>& ids, std::uint32_t position,
                            std::uint32_t token, std::uint32_t other) {
  const std::size_t vocabulary = logits.shape.back();
  const auto row = [&](std::size_t at) { return std::span(logits.values).subspan(at * vocabulary, vocabulary); };
  PredictedNumbers numbers{.logit = double{row(position)[token]} - double{row(position)[other]},
                           .probability = std::exp(log_probability(row(position), token))};
  for (std::size_t at = 0; at + 1 < ids.size(); ++at) {
    numbers.loss -= log_probability(row(at), ids[at + 1]) / static_cast<double>(ids.size() - 1);
  }
  return numbers;
}

/// A logit that a pass without this head could give a token at a state.
float made_up_logit(const HeadRef& head, std::uint32_t state, std::size_t token) {
  const std::uint64_t at = (head.block.layer.value * 8 + head.head) * std::uint64_t{1'000'003} + state * 4'001 + token;
  return static_cast<float>(at * 0x9e3779b97f4a7c15U >> 40U) * 0x1p-22F;
}

/// Answers a Δ-map's steps with made-up logits, in step number i of as many passes as `counts` says, again from its
/// beginning on. Returns what was found; `steps`: how many there were.
HeadKnockouts answer_steps(Task<HeadKnockouts> task, std::size_t vocabulary, const std::vector<std::size_t>& counts,
                           std::size_t& steps) {
  for (steps = 0; !task.is_done(); ++steps) {
    REQUIRE(steps < 2'000);
    const Reads reads = task.reads();
    const std::size_t offered = std::max<std::size_t>(reads.passes.size(), 1);
    const std::size_t passes = std::min(offered, counts[steps % counts.size()]);
    std::vector<float> logits;
    logits.reserve(passes * reads.logits.size() * vocabulary);
    for (std::size_t pass = 0; pass < passes; ++pass) {
      const inference::Scope all = reads.passes.empty() ? inference::Scope() : reads.passes[pass].front().scope;
      const HeadRef head{.block = encoder_block(all.layer.value_or(9)), .head = all.head.value_or(0)};
      for (const inference::StateRef& state : reads.logits) {
        for (std::size_t token = 0; token < vocabulary; ++token) logits.push_back(made_up_logit(head, state.token, token));
      }
    }
    task.take({.logits = logits, .passes = passes});
  }
  return *task.result();
}

const Choices kLoss = Choices().set(kWhatIfView.measure, KnockoutMeasure::Loss);

const std::vector<std::uint32_t> kIds = {5, 9, 2, 7, 5, 9, 11};

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("every head's knock-out is the pass that knocks it out alone, behind what was changed already") {
    for (const std::string model : {"gpt2", "llama", "marian"}) {
      CAPTURE(model);
      Desk desk;
      State state = model_state(model, kIds, model == "marian" ? kIds : std::vector<std::uint32_t>());
      set_head_gain(state, {.kind = model::BlockKind::EncoderSelf, .layer = {0}}, 1, 0.5F);
      const AnalysisQuery of_token = knockout_query({}, 0, 4, 3, 8);
      const HeadKnockouts tokens = desk.knockouts(state, of_token);
      const HeadKnockouts losses = desk.knockouts(state, knockout_query(kLoss, 0, 4, 3, 8));
      CHECK(tokens.without.size() == losses.without.size());
      for (const auto& [head, numbers] : tokens.without) {
        State alone = state;
        set_head_gain(alone, head.block, head.head, 0.0F);
        const PredictedNumbers right = numbers_of(desk.logits(alone), kIds, 4, 3, 8);
        // Observed: equal, the same kernels compute the same bits.
        CHECK(std::abs(numbers.logit - right.logit) <= 1e-6 * std::max(std::abs(right.logit), 1.0));
        CHECK(std::abs(numbers.probability - right.probability) <= 1e-6);
        CHECK(std::abs(losses.without.at(head).loss - right.loss) <= 1e-6 * right.loss);
      }
      const PredictedNumbers present = numbers_of(desk.logits(state), kIds, 4, 3, 8);
      CHECK(std::abs(tokens.present.logit - present.logit) <= 1e-6 * std::max(std::abs(present.logit), 1.0));
      CHECK(std::abs(losses.present.loss - present.loss) <= 1e-6 * present.loss);
    }
  }

  TEST_CASE("the run on screen stays as it is while heads are knocked out in the background") {
    Desk desk;
    const State state = model_state("gpt2", kIds);
    const PredictionQuery prediction{.token = 6, .layer = 2, .keeps_logits = true};
    const TileQuery tile{.block = {.kind = model::BlockKind::EncoderSelf, .layer = {1}}, .head = 2, .rows = 7, .columns = 7};
    const EngineResult before = desk.ask(state, {tile, prediction});
    desk.knockouts(state, knockout_query({}, 0, 6, 3, std::nullopt));
    PredictionQuery anew = prediction;
    anew.token = 5;
    const EngineResult after = desk.ask(state, {tile, prediction, anew});
    CHECK(after.run == before.run);
    CHECK(after.tile(tile)->values == before.tile(tile)->values);
    const Tensor logits = desk.logits(state);
    const std::vector<float>& row = *after.prediction(anew)->logits;
    for (std::size_t i = 0; i < row.size(); ++i) CHECK(row[i] == doctest::Approx(logits.values[5 * row.size() + i]));
  }

  TEST_CASE("knock-outs are PyTorch's, of decoders, an encoder and an encoder\u2013decoder") {
    const nlohmann::json golden = read_json(std::string(HEADLIGHT_GOLDEN_DIR) + "/knockouts.json");
    REQUIRE(golden.size() == 4);
    for (const auto& item : golden.items()) {
      const std::string& model = item.key();
      const nlohmann::json& expected = item.value();
      CAPTURE(model);
      Desk desk;
      const auto ids = expected.at("ids").get<std::vector<std::uint32_t>>();
      const auto target = expected.at("target_ids").get<std::vector<std::uint32_t>>();
      const State state = model_state(model, ids, target);
      desk.baseline = model_state(model, expected.at("frozen_ids").get<std::vector<std::uint32_t>>(),
                                  expected.at("frozen_target_ids").get<std::vector<std::uint32_t>>());
      const auto number = [&](const char* key) { return expected.at(key).get<std::uint32_t>(); };
      const auto present = expected.at("present").get<std::vector<double>>();
      const bool has_loss = present.size() == 3;
      for (const Ablation ablation : {Ablation::Zero, Ablation::Mean, Ablation::BaselineMean}) {
        CAPTURE(static_cast<int>(ablation));
        const HeadKnockouts tokens =
            desk.knockouts(state, knockout_query(Choices().set(kWhatIfView.ablation, ablation), 0, number("position"),
                                                 number("token"), number("other")));
        const HeadKnockouts losses =
            has_loss ? desk.knockouts(state, knockout_query(Choices(kLoss).set(kWhatIfView.ablation, ablation), 0, 0, 0, {}))
                     : HeadKnockouts();
        REQUIRE(tokens.without.size() == expected.at("without").size());
        const auto check = [&](const PredictedNumbers& of_token, double loss, std::span<const double> right) {
          // Logits within 1e-3 relative is what is promised; the bounds are what float32 keeps of these.
          CHECK(std::abs(of_token.logit - right[0]) <= 2e-5 * std::max(std::abs(right[0]), 1.0));
          CHECK(std::abs(of_token.probability - right[1]) <= 1e-5);
          if (has_loss) CHECK(std::abs(loss - right[2]) <= 1e-5 * right[2]);
        };
        check(tokens.present, losses.present.loss, present);
        for (const auto& row : expected.at("without")) {
          const HeadRef head{
              .block = {.kind = static_cast<model::BlockKind>(row[0].get<int>()), .layer = {row[1].get<std::uint32_t>()}},
              .head = row[2].get<std::uint32_t>()};
          REQUIRE(tokens.without.contains(head));
          std::vector<double> right;
          const std::size_t first = 3 + static_cast<std::size_t>(ablation) * present.size();
          for (std::size_t i = first; i < first + present.size(); ++i) right.push_back(row[i].get<double>());
          check(tokens.without.at(head), has_loss ? losses.without.at(head).loss : 0.0, right);
        }
      }
    }
  }
}

TEST_SUITE("cpu") {
  TEST_CASE("the number of passes computed together may change between the steps of a map: nothing begins again") {
    State state;
    const std::string path = HEADLIGHT_ASSETS_DIR "/models/captions-gpt2";
    select_model(state, path, inference::open_model(path)->masks);
    state.model().ids = {{}};
    for (std::uint32_t token = 0; token < 100; ++token) state.model().ids.front().push_back(token * 37 % 4'000);
    RunSource sources;
    const RunSource::Source& source = sources.build(run_inputs(state));
    const FakeRun run({.network = source.network, .input = *source.input}, 1, std::make_shared<FakeLog>(),
                      std::make_shared<FakeDevice>(FakeDevice{"a test"}));
    const AnalysisSubject subject{.network = source.network,
                                  .input = source.input,
                                  .inputs = std::make_shared<const RunInputs>(run_inputs(state)),
                                  .shapes = shapes_of(run),
                                  .has_logits = true};
    const std::size_t vocabulary = source.network->layers->unembedding->linear.out();
    const auto found_by = [&](const std::vector<std::size_t>& counts, std::size_t& steps) {
      return answer_steps(analyse(knockout_query(kLoss, 0, 0, 0, {}), subject), vocabulary, counts, steps);
    };
    std::size_t steps_alone = 0, steps_of_all = 0;
    const HeadKnockouts alone = found_by({1}, steps_alone);
    REQUIRE(alone.is_complete());
    REQUIRE(alone.without.size() == 32);
    REQUIRE(steps_alone >= 40);  // observed 45: of most heads the logits are read in two steps
    CHECK(found_by({8}, steps_of_all).is_complete());
    CHECK(steps_of_all * 4 < steps_alone);
    for (const std::vector<std::size_t>& counts :
         {std::vector<std::size_t>{8}, {1, 8}, {8, 1}, {4, 3, 2}, {2, 8, 5, 1, 3}, {8, 4, 8, 2, 1, 6, 7}}) {
      CAPTURE(counts.front());
      CAPTURE(counts.size());
      std::size_t steps = 0;
      const HeadKnockouts found = found_by(counts, steps);
      REQUIRE(found.is_complete());
      CHECK(steps <= steps_alone);
      CHECK(found.present.loss == alone.present.loss);
      for (const auto& entry : alone.without) CHECK(found.without.at(entry.first).loss == entry.second.loss);
    }
  }

  TEST_CASE("what can't be measured is said in words") {
    AskedAnalysis gpt2("gpt2");
    const auto error = [&](const AnalysisQuery& query) { return gpt2.ask(query).error; };
    CHECK(error(knockout_query({}, 0, 1'000, 3, {})) == "this run has no such prediction");
    CHECK(error(knockout_query({}, 0, 1, 1'000'000, {})) == "this run has no such prediction");
    CHECK(error(knockout_query({}, 0, 1, 3, 1'000'000)) == "this run has no such prediction");
    CHECK(error(knockout_query(kLoss, 5, 1, 3, {})) == "this run has 1 lines");
    gpt2.state.model().ids = {{4}};
    CHECK(error(knockout_query(kLoss, 0, 0, 0, {})) == "a loss needs a text of two tokens or more");
  }
}

}  // namespace head_knockouts_gpu_test
