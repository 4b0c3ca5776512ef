// Metrics of heads, measured by the engine in strips, against whole maps of the reference.
#include "app/engine/analyses/head_metrics.h"

#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "app/engine/engine_worker.h"
#include "engine/reference_runner.h"

namespace head_metrics_test {

using namespace headlight;
using namespace headlight::app;
using evaluation::HeadMetric;
using evaluation::kHeadMetrics;

namespace {

State playground(const std::string& text) {
  State state;
  state.text() = text;
  state.playground().settings.d_model = 12;
  state.playground().settings.heads = 3;
  state.playground().settings.layers = 2;
  return state;
}

AnalysisQuery metrics_of(model::BlockKind kind, std::uint32_t batch = 0) {
  return HeadMetricsQuestion{.kind = kind, .batch = batch};
}

/// The engine's answer, and how often it had a result before it was done.
struct Answer {
  EngineResult result;
  std::size_t partial = 0;

  const HeadMetricsFound& found(const AnalysisQuery& query) const {
    const Analysed* answer = result.analysed(query);
    REQUIRE(answer);
    CHECK(answer->error == "");
    CHECK(answer->is_done);
    const auto* found = answer->as<HeadMetricsFound>();
    REQUIRE(found);
    return *found;
  }
};

Answer ask(const State& state, const std::vector<Query>& queries) {
  EngineWorker worker({.open = open_reference_runner,
                       .tile_bytes = kDefaultTileBytes,
                       .models = std::make_shared<ModelCache>(),
                       .watch_load = [](std::size_t, std::size_t) { return true; }});
  worker.open("");
  worker.begin({.revision = 1, .inputs = run_inputs(state), .queries = queries});
  Answer answer;
  while (worker.has_more()) {
    worker.evaluate_some();
    answer.result = worker.snapshot();
    for (const auto& [query, known] : answer.result.analyses) answer.partial += known.result && !known.is_done ? 1u : 0u;
  }
  answer.result = worker.snapshot();  // some are answered without a step
  return answer;
}

/// The maps of the same run, whole.
std::shared_ptr<const ReferenceRun> run_of(const State& state) {
  RunSource sources;
  const RunSource::Source& source = sources.build(run_inputs(state));
  return std::make_shared<ReferenceRun>(
      inference::PassInputs{.network = source.network, .input = *source.input, .masks = state.masks, .interventions = {}});
}

/// Metrics of the part of a whole map that has no padding.
evaluation::HeadMetrics measure(const inference::Run& run, const HeadRef& head, std::uint32_t item,
                                const std::vector<std::uint32_t>& tokens, bool is_causal) {
  const auto n = static_cast<std::uint32_t>(tokens.size());
  const Tensor maps = run.stage(head.block, attention::Stage::Weights);
  const evaluation::TokenRepeats repeats(tokens);
  evaluation::HeadMeter meter(repeats);
  for (std::uint32_t query = 0; query < n; ++query) {
    std::vector<double> weights;
    for (std::uint32_t key = 0; key < n; ++key) weights.push_back(double{maps.at({item, head.head, query, key})});
    meter.add(query, weights, is_causal ? query + 1 : n);
  }
  return meter.metrics();
}

void check_same(const evaluation::HeadMetrics& found, const evaluation::HeadMetrics& expected) {
  for (std::size_t i = 0; i < kHeadMetrics; ++i) {
    const auto metric = static_cast<HeadMetric>(i);
    CAPTURE(i);
    REQUIRE(found.value(metric).has_value() == expected.value(metric).has_value());
    if (found.value(metric)) CHECK(std::abs(*found.value(metric) - *expected.value(metric)) <= 1e-6);
  }
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("every head's metrics are those of its whole map, told when all are there") {
    State state = playground("one two three one two three");
    state.masks[model::BlockKind::EncoderSelf].rule.causal = true;
    const AnalysisQuery query = metrics_of(model::BlockKind::EncoderSelf);
    const Answer answer = ask(state, {query});
    CHECK(answer.partial == 0);
    const HeadMetricsFound& found = answer.found(query);
    CHECK(found.all_heads == 6);
    CHECK(found.is_complete());
    CHECK(found.queries == 6);
    CHECK(found.measured_queries == 6);
    const auto run = run_of(state);
    for (const auto& entry : found.heads) {
      check_same(entry.second, measure(*run, entry.first, 0, {0, 1, 2, 0, 1, 2}, true));
    }
    const HeadRef first{.block = {.kind = model::BlockKind::EncoderSelf, .layer = {0}}, .head = 0};
    REQUIRE(found.find(first));
    CHECK(found.find(first)->value(HeadMetric::Induction).has_value());
    CHECK(found.find({.block = first.block, .head = 3}) == nullptr);
  }

  TEST_CASE("padding is no part of a line") {
    const State state = playground("one two three four five\none one");
    const auto run = run_of(state);
    const std::vector<std::vector<std::uint32_t>> tokens = {{0, 1, 2, 3, 4}, {0, 0}};
    for (std::uint32_t item = 0; item < 2; ++item) {
      const AnalysisQuery query = metrics_of(model::BlockKind::EncoderSelf, item);
      const Answer answer = ask(state, {query});
      const HeadMetricsFound& found = answer.found(query);
      CHECK(found.queries == tokens[item].size());
      for (const auto& entry : found.heads) {
        check_same(entry.second, measure(*run, entry.first, item, tokens[item], false));
        CHECK(entry.second.value(HeadMetric::DuplicateToken).has_value() == (item == 1));
      }
    }
  }

  TEST_CASE("attention between two texts has neither patterns nor distances") {
    State state = playground("one two three");
    state.playground().cross = true;
    state.playground().key_text = "one two";
    const AnalysisQuery query = metrics_of(model::BlockKind::Cross);
    const Answer answer = ask(state, {query});
    const HeadMetricsFound& found = answer.found(query);
    REQUIRE(found.is_complete());
    for (const auto& entry : found.heads) {
      CHECK_FALSE(entry.second.value(HeadMetric::PreviousToken).has_value());
      CHECK_FALSE(entry.second.value(HeadMetric::Distance).has_value());
      CHECK(entry.second.value(HeadMetric::Entropy).has_value());
    }
  }

  TEST_CASE("what isn't there can't be measured, in one line") {
    const State state = playground("one two");
    const AnalysisQuery no_decoder = metrics_of(model::BlockKind::DecoderSelf);
    const AnalysisQuery no_line = metrics_of(model::BlockKind::EncoderSelf, 9);
    const Answer answer = ask(state, {no_decoder, no_line});
    REQUIRE(answer.result.analysed(no_decoder));
    CHECK(answer.result.analysed(no_decoder)->error == "this run has no such attention");
    REQUIRE(answer.result.analysed(no_line));
    CHECK(answer.result.analysed(no_line)->error == "this run has 1 lines");
  }

  TEST_CASE("all queries of a short text are measured, 32 strips of a long one") {
    CHECK(measured_rows({2048}, 2048) == std::vector<RowStrip>{{.first = 0, .count = 2048}});
    CHECK(measured_rows({3, 7}, 4) == std::vector<RowStrip>{{.first = 3, .count = 4}});
    CHECK(measured_rows({0}, 4).empty());
    for (const std::uint32_t tokens : {2'049u, 8'192u, 32'768u, 1'000'000u}) {
      CAPTURE(tokens);
      const std::vector<RowStrip> strips = measured_rows({5, 5 + tokens}, tokens);
      REQUIRE(strips.size() == 32);
      CHECK(strips.front().first == 5);
      CHECK(strips.back().first + strips.back().count == 5 + tokens);
      std::size_t rows = 0;
      for (std::size_t i = 0; i < strips.size(); ++i) {
        rows += strips[i].count;
        if (i > 0) CHECK(strips[i].first >= strips[i - 1].first + strips[i - 1].count);
      }
      CHECK(rows >= 32);
      if (tokens <= 32'768) CHECK(rows * tokens <= kMaxMeasuredCells);
    }
  }

  TEST_CASE("a step reads few cells, the rows of every head once, and a long work tells what it knows so far") {
    const std::uint32_t tokens = 2'048;
    model::ModelInput input;
    input.source = {.batch = 1, .length = tokens, .lengths = {tokens}};
    input.source.ids.resize(tokens);
    std::iota(input.source.ids.begin(), input.source.ids.end(), 0u);
    const inference::BlockShape shape{.batch = 1, .heads = 12, .queries = tokens, .keys = tokens};
    const AnalysisSubject subject{.network = nullptr,
                                  .input = std::make_shared<const model::ModelInput>(input),
                                  .inputs = nullptr,
                                  .shapes = {{{.kind = model::BlockKind::EncoderSelf, .layer = {0}}, shape}}};
    auto task = analyse(HeadMetricsQuestion(), subject);
    std::set<std::pair<std::uint32_t, std::uint32_t>> rows;  // (head, row)
    std::size_t most = 0, told = 0;
    while (!task.is_done() && told == 0) {
      const Reads reads = task.reads();
      std::vector<attention::Tile> tiles;
      std::size_t cells = 0;
      for (const attention::TileRequest& request : reads.tiles) {
        cells += std::size_t{request.rows} * request.columns;
        for (std::uint32_t row = request.row; row < request.row + request.rows; ++row) {
          CHECK(rows.insert({request.head, row}).second);
        }
        attention::Tile& tile = tiles.emplace_back();
        tile.request = request;
        tile.values.assign(std::size_t{request.rows} * request.columns, 0.0f);
      }
      most = std::max(most, cells);
      task.take({.tiles = std::move(tiles)});
      if (const auto result = task.result()) told = result->heads.size();
    }
    CHECK(most <= std::size_t{1} << 17);
    CHECK(told == 1);
    CHECK_FALSE(task.is_done());
    CHECK(rows.size() == tokens);
  }
}

}  // namespace head_metrics_test
