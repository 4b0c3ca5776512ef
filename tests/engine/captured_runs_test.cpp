// Captures on the engine's thread: tiles, levels, means, metrics, rollout and comparisons.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "app/engine/analyses/head_metrics.h"
#include "app/engine/analyses/token_flow.h"
#include "app/shapes/quantities/evaluation.h"
#include "app/state/comparison.h"
#include "capture/captured_run.h"
#include "capture/captures.h"
#include "core/error.h"
#include "engine/asked_analysis.h"
#include "engine/fake_runner.h"
#include "support/deviation.h"

namespace captured_runs_test {

using namespace headlight;
using namespace headlight::app;
using namespace headlight::test;

namespace {

const model::BlockRef kFirstBlock{};

/// An engine on a device that counts its passes.
struct CaptureBench {
  std::shared_ptr<FakeLog> log = std::make_shared<FakeLog>();
  EngineWorker worker{{.open = fake_factory(log),
                       .tile_bytes = kDefaultTileBytes,
                       .models = std::make_shared<ModelCache>(),
                       .watch_load = [](std::size_t, std::size_t) { return true; }}};
  State state;
  std::uint64_t revision = 0;

  explicit CaptureBench(const std::filesystem::path& path) : CaptureBench() { select_capture(state, path.string()); }
  CaptureBench() { worker.open(""); }
  EngineResult ask(std::vector<Query> queries, const std::optional<RunInputs>& reference = std::nullopt) {
    worker.begin(
        {.revision = ++revision, .inputs = run_inputs(state), .queries = std::move(queries), .baseline = reference});
    while (worker.has_more()) worker.evaluate_some();
    return worker.snapshot();
  }
};

/// The numbers of one head of self.safetensors, read without the engine.
std::vector<float> numbers_of(const std::filesystem::path& path, std::uint32_t batch, std::uint32_t head) {
  const capture::CaptureFile file(path);
  const capture::CapturedBlock& block = file.blocks().front();
  std::vector<float> values(std::size_t{block.shape.queries} * block.shape.keys);
  block.weights->read(
      {.item = batch, .head = head, .row = 0, .rows = block.shape.queries, .column = 0, .columns = block.shape.keys},
      values.data());
  return values;
}

TileQuery map_of(std::uint32_t batch, std::uint32_t head, std::uint32_t tokens) {
  return {.block = kFirstBlock, .batch = batch, .head = head, .rows = tokens, .columns = tokens};
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("the engine answers a capture's maps with the file's numbers and computes no pass") {
    const auto path = golden_capture("self.safetensors");
    CaptureBench bench(path);
    const TileQuery map = map_of(1, 2, 5);
    TileQuery mean = map_of(1, 0, 5);
    mean.quantity = kMeanOfLayer;
    TileQuery coarse = map;
    coarse.pool = 4;
    const EngineResult result = bench.ask({map, mean, coarse});
    REQUIRE(result.error == "");
    REQUIRE(result.capture);
    CHECK(result.capture->path() == path);
    CHECK(result.capture_warning == "");
    CHECK_FALSE(result.has_logits);
    CHECK(result.blocks.size() == 2);
    CHECK(bench.log->runs == 0);
    REQUIRE(result.tile(map));
    CHECK(result.tile(map)->values == numbers_of(path, 1, 2));
    REQUIRE(result.tile(mean));
    double worst = 0.0;
    for (std::size_t cell = 0; cell < 25; ++cell) {
      double sum = 0.0;
      for (std::uint32_t head = 0; head < 3; ++head) sum += double{numbers_of(path, 1, head)[cell]};
      test::widen(worst, sum / 3.0, double{result.tile(mean)->values[cell]});
    }
    CHECK(worst < 1e-7);  // 2.0e-8
    REQUIRE(result.tile(coarse));
    CHECK(result.tile(coarse)->values.size() == 4);
    const std::vector<float> exact = numbers_of(path, 1, 2);
    CHECK(result.tile(coarse)->values[3] == exact[24]);
  }

  TEST_CASE("levels of a large map are a plain loop's maxima, tile by tile") {
    const TemporaryDirectory folder;
    constexpr std::uint32_t kTokens = 600;
    MadeTensor made{.name = "attention.0", .shape = {1, kTokens, kTokens}, .values = {}};
    for (std::uint32_t i = 0; i < kTokens * kTokens; ++i) {
      made.values.push_back(static_cast<float>((i * 2654435761U) >> 16U) / (65536.0F * kTokens));
    }
    CaptureBench bench(write_capture(folder.path() / "c.safetensors", {made}));
    const TileQuery tile{.block = kFirstBlock, .row = 512, .rows = 88, .column = 0, .columns = 512, .pool = 2};
    const EngineResult result = bench.ask({tile});
    REQUIRE(result.tile(tile));
    const attention::Tile& shown = *result.tile(tile);
    bool is_same = true;
    for (std::uint32_t row = 0; row < 44; ++row) {
      for (std::uint32_t column = 0; column < 256; ++column) {
        float largest = 0.0F;
        for (const std::uint32_t cell : {0U, 1U, kTokens, kTokens + 1}) {
          largest = std::max(largest, made.values[std::size_t{512 + 2 * row} * kTokens + 2 * column + cell]);
        }
        is_same = is_same && shown.at(row, column) == largest;
      }
    }
    CHECK(is_same);
    CHECK(result.capture_warning.find("600 rows do not sum to 1") == 0);  // all are read for the range of the colours
  }

  TEST_CASE("metrics and rollout are found of a capture; what needs a network is refused in words") {
    CaptureBench bench(golden_capture("self.safetensors"));
    const AnalysisQuery metrics = HeadMetricsQuestion{.kind = kFirstBlock.kind, .batch = 1};
    const AnalysisQuery rollout =
        FlowQuestion{.method = FlowMethod::Rollout, .batch = 1, .position = 3, .residual_weight = 500};
    const AnalysisQuery routes = FlowQuestion{.batch = 1, .position = 3};
    const EngineResult result = bench.ask({metrics, rollout, routes});
    REQUIRE(result.analysed(metrics));
    CHECK(found_in<HeadMetricsFound>(*result.analysed(metrics)).heads.size() == 6);
    REQUIRE(result.analysed(rollout));
    const auto& flow = found_in<TokenFlowFound>(*result.analysed(rollout));
    double all = 0.0;
    for (const double input : flow.inputs) all += input;
    CHECK(std::abs(all - 1.0) < 1e-7);  // 5.4e-9
    REQUIRE(result.analysed(routes));
    CHECK(result.analysed(routes)->error.find("this model has no routes") == 0);
  }

  TEST_CASE("a padded line has the metrics that it has alone, and rows that weren't captured are no queries") {
    const TemporaryDirectory folder;
    constexpr std::uint32_t kTokens = 3, kPadded = 5;
    MadeTensor alone{
        .name = "attention.0", .shape = {1, kTokens, kTokens}, .values = {1, 0, 0, 0.25F, 0.75F, 0, 0.5F, 0.3F, 0.2F}};
    const auto metrics_of = [](const std::filesystem::path& path, std::uint32_t batch) {
      CaptureBench bench(path);
      const AnalysisQuery metrics = HeadMetricsQuestion{.kind = kFirstBlock.kind, .batch = batch};
      const EngineResult result = bench.ask({metrics});
      REQUIRE(result.analysed(metrics));
      const auto& head = found_in<HeadMetricsFound>(*result.analysed(metrics)).heads.at({.block = kFirstBlock, .head = 0});
      std::vector<double> values;
      for (const evaluation::HeadMetric metric :
           {evaluation::HeadMetric::Sink, evaluation::HeadMetric::Concentration, evaluation::HeadMetric::RelativeEntropy,
            evaluation::HeadMetric::Entropy, evaluation::HeadMetric::Distance, evaluation::HeadMetric::PreviousToken}) {
        values.push_back(head.value(metric).value());
      }
      return values;
    };
    const char* causal = R"("mask":"causal")";
    const std::vector<double> expected = metrics_of(write_capture(folder.path() / "a.safetensors", {alone}, causal), 0);
    // The batch has the same line with padding on the right, then on the left; rows of padding may have any weights.
    MadeTensor batch = even("attention.0", {2, 1, kPadded, kPadded});
    for (std::uint32_t line = 0; line < 2; ++line) {
      const std::uint32_t start = line == 0 ? 0 : kPadded - kTokens;
      for (std::uint32_t row = 0; row < kTokens; ++row) {
        for (std::uint32_t key = 0; key < kPadded; ++key) {
          const bool is_real = key >= start && key < start + kTokens;
          batch.values[(std::size_t{line} * kPadded + start + row) * kPadded + key] =
              is_real ? alone.values[row * kTokens + key - start] : 0.0F;
        }
      }
    }
    const auto padded =
        write_capture(folder.path() / "p.safetensors", {batch}, R"("mask":"causal","lengths":"[3, 3]","starts":"[0, 2]")");
    CHECK(metrics_of(padded, 0) == expected);
    CHECK(metrics_of(padded, 1) == expected);
    // The capture has rows 1 and 2 alone: the metrics are means over these.
    MadeTensor later{.name = "attention.0", .shape = {1, 2, kTokens}, .values = {0.25F, 0.75F, 0, 0.5F, 0.3F, 0.2F}};
    const std::vector<double> of_later =
        metrics_of(write_capture(folder.path() / "l.safetensors", {later}, R"("mask":"causal","cached":"1")"), 0);
    CHECK(std::abs(of_later[0] - 0.375) < 1e-7);  // the first token's weight
    CHECK(std::abs(of_later[1] - 0.625) < 1e-7);  // the largest weight
  }

  TEST_CASE("a captured cell that is NaN leaves its head without metrics, and the other heads with theirs") {
    const TemporaryDirectory folder;
    MadeTensor made = even("attention.0", {1, 2, 3, 3});
    made.values[5] = std::nanf("");  // of the first head's second query, its last key
    CaptureBench bench(write_capture(folder.path() / "c.safetensors", {made}));
    const AnalysisQuery metrics = HeadMetricsQuestion{.kind = kFirstBlock.kind};
    const EngineResult result = bench.ask({metrics});
    REQUIRE(result.analysed(metrics));
    const auto& heads = found_in<HeadMetricsFound>(*result.analysed(metrics)).heads;
    for (const evaluation::HeadMetric metric : {evaluation::HeadMetric::Sink, evaluation::HeadMetric::Concentration,
                                                evaluation::HeadMetric::Entropy, evaluation::HeadMetric::Distance}) {
      CHECK_FALSE(heads.at({.block = kFirstBlock, .head = 0}).value(metric).has_value());
      CHECK(heads.at({.block = kFirstBlock, .head = 1}).value(metric).has_value());
    }
  }

  TEST_CASE("two captures of the same sizes are compared") {
    const TemporaryDirectory folder;
    const MadeTensor made = even("attention.0", {1, 2, 3, 3});
    MadeTensor other = made;
    other.values[0] = 0.5F;
    const auto one = write_capture(folder.path() / "one.safetensors", {made});
    const auto two = write_capture(folder.path() / "two.safetensors", {other});
    CaptureBench bench(one);
    bench.state.compare.baseline = make_baseline(bench.state);
    select_capture(bench.state, two.string());
    TileQuery difference = map_of(0, 0, 3);
    difference.quantity = difference_of(attention::Stage::Weights);
    const EngineResult result = bench.ask({difference}, bench.state.compare.baseline->inputs);
    CHECK(result.baseline_error == "");
    REQUIRE(result.tile(difference));
    CHECK(result.tile(difference)->values[0] == 0.5F - 1.0F / 3.0F);
    CHECK(result.tile(difference)->values[1] == 0.0F);
    CHECK(bench.log->runs == 0);
  }

  TEST_CASE("a capture is compared with a network's run, in either order, by its weights alone") {
    const TemporaryDirectory folder;
    AskedAnalysis live("gpt2", "a b c", open_reference_runner);
    const auto ask = [&](std::vector<Query> queries, const std::optional<RunInputs>& reference) {
      live.worker.begin({.revision = ++live.revision,
                         .inputs = run_inputs(live.state),
                         .queries = std::move(queries),
                         .baseline = reference});
      while (live.worker.has_more()) live.worker.evaluate_some();
      return live.worker.snapshot();
    };
    const BlockShapes shapes = ask({}, std::nullopt).shapes;
    const std::uint32_t tokens = shapes.begin()->second.queries;
    REQUIRE(tokens > 1);
    std::vector<MadeTensor> tensors;
    for (const auto& [block, shape] : shapes) {
      MadeTensor made{
          .name = "attention." + std::to_string(block.layer.value), .shape = {1, shape.heads, tokens, tokens}, .values = {}};
      for (std::uint32_t head = 0; head < shape.heads; ++head) {
        TileQuery map = map_of(0, head, tokens);
        map.block = block;
        const EngineResult shown = ask({map}, std::nullopt);
        REQUIRE(shown.tile(map));
        made.values.insert(made.values.end(), shown.tile(map)->values.begin(), shown.tile(map)->values.end());
      }
      tensors.push_back(std::move(made));
    }
    tensors.back().values.back() += 0.25F;  // the last layer's last head, its last cell
    const model::BlockRef last = shapes.rbegin()->first;
    const std::uint32_t last_head = shapes.rbegin()->second.heads - 1;
    const auto path = write_capture(folder.path() / "c.safetensors", tensors);

    TileQuery same = map_of(0, 0, tokens), changed = map_of(0, last_head, tokens), scores = same, baseline = same;
    same.quantity = changed.quantity = difference_of(attention::Stage::Weights);
    changed.block = last;
    scores.quantity = difference_of(attention::Stage::Scores);
    baseline.quantity = baseline_of(attention::Stage::Weights);
    const AnalysisQuery metrics(HeadMetricsQuestion{.kind = kFirstBlock.kind}, true);
    live.state.compare.baseline = make_baseline(live.state);
    State captured = live.state;
    select_capture(captured, path.string());
    REQUIRE(captured.compare.baseline);  // of a model it stays
    State again = captured;
    select_model(again, model_path(live.state.source), {});
    CHECK(again.compare.baseline);
    for (const bool is_capture_newest : {true, false}) {
      CAPTURE(is_capture_newest);
      const RunInputs reference = is_capture_newest ? run_inputs(live.state) : run_inputs(captured);
      const State model = live.state;
      if (is_capture_newest) live.state = captured;
      const EngineResult result = ask({same, changed, scores, baseline, metrics}, reference);
      live.state = model;
      CHECK(result.error == "");
      CHECK(result.baseline_error == "");
      CHECK(static_cast<bool>(result.capture) == is_capture_newest);
      REQUIRE(result.tile(same));
      CHECK(result.tile(same)->values == std::vector<float>(std::size_t{tokens} * tokens, 0.0F));
      REQUIRE(result.tile(changed));
      CHECK(result.tile(changed)->values.front() == 0.0F);
      CHECK(std::abs(result.tile(changed)->values.back() - (is_capture_newest ? 0.25F : -0.25F)) < 1e-7F);  // 0
      REQUIRE(result.tile(baseline));
      CHECK(result.tile(baseline)->values.front() == 1.0F);
      CHECK(result.tile(scores) == nullptr);
      REQUIRE(result.analysed(metrics));
      CHECK_FALSE(found_in<HeadMetricsFound>(*result.analysed(metrics)).heads.empty());
    }
    select_capture(live.state, golden_capture("self.safetensors").string());
    CHECK(ask({same}, run_inputs(captured)).baseline_error.find("the baseline has") == 0);
    State other = live.state;
    select_model(other, std::string(HEADLIGHT_GOLDEN_DIR) + "/models/gpt2", {});
    CHECK(ask({same}, run_inputs(other)).baseline_error.find("the baseline has") == 0);
  }

  TEST_CASE("a file that is gone is a line, and the run on screen stays") {
    const TemporaryDirectory folder;
    CaptureBench bench(golden_capture("self.safetensors"));
    CHECK(bench.ask({}).error == "");
    select_capture(bench.state, (folder.path() / "gone.npz").string());
    const EngineResult result = bench.ask({});
    CHECK(result.error.find("can't open") == 0);
    CHECK(result.is_stale);
    CHECK(result.blocks.size() == 2);
  }
}

}  // namespace captured_runs_test
