// Means over heads, from tiles of the heads themselves.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "app/engine/engine_worker.h"
#include "app/engine/run_source.h"
#include "app/shapes/quantities/evaluation.h"
#include "engine/evaluate.h"
#include "engine/reference_runner.h"

namespace head_mean_test {

using namespace headlight;
using namespace headlight::app;
using attention::Stage;

namespace {

/// A run of the reference, and each head's exact weights.
struct Run {
  explicit Run(const State& asked) : state(asked) {
    const RunSource::Source& source = sources.build(run_inputs(state));
    run = std::make_shared<ReferenceRun>(
        inference::PassInputs{.network = source.network, .input = *source.input, .masks = state.masks, .interventions = {}});
    for (const model::BlockRef block : run->blocks()) shapes[block] = run->shape(block);
  }

  attention::Tile head(model::BlockRef block, std::uint32_t head) {
    const inference::BlockShape& shape = shapes.at(block);
    const attention::TileRequest request{.block = block, .head = head, .rows = shape.queries, .columns = shape.keys};
    return std::move(run->evaluate({&request, 1}).front());
  }

  attention::Tile mean(const TileQuery& query, std::size_t cells_at_once) {
    Evaluation evaluation = head_mean_tile(query, {.shapes = shapes, .most_cells = cells_at_once});
    while (!evaluation.is_done()) evaluation.take({.tiles = run->evaluate(evaluation.reads().tiles)});
    return evaluation.answer();
  }

  State state;
  RunSource sources;
  std::shared_ptr<const inference::Run> run;
  BlockShapes shapes;
};

State causal_playground() {
  State state;
  state.text() = "one two three four five six seven";
  state.playground().settings.d_model = 12;
  state.playground().settings.heads = 3;
  state.playground().settings.layers = 2;
  state.masks[model::BlockKind::EncoderSelf].rule.causal = true;
  return state;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a mean is the mean of its heads' tiles, of one layer or of all") {
    Run run(causal_playground());
    const model::BlockRef last{.layer = LayerIndex{1}};
    for (const QuantityId which : {kMeanOfLayer, kMeanOfKind}) {
      std::vector<attention::Tile> heads;
      for (const auto& [block, shape] : run.shapes) {
        if (which == kMeanOfLayer && block != last) continue;
        for (std::uint32_t head = 0; head < shape.heads; ++head) heads.push_back(run.head(block, head));
      }
      REQUIRE(heads.size() == (which == kMeanOfLayer ? 3 : 6));
      const TileQuery whole{.quantity = which, .block = last, .rows = 7, .columns = 7};
      const attention::Tile mean = run.mean(whole, 1);  // a head at a time
      for (std::uint32_t row = 0; row < 7; ++row) {
        double sum = 0.0;
        double largest = 0.0;
        for (std::uint32_t column = 0; column < 7; ++column) {
          double expected = 0.0;
          for (const attention::Tile& head : heads) expected += double{head.at(row, column)};
          expected /= static_cast<double>(heads.size());
          CHECK(std::abs(double{mean.at(row, column)} - expected) < 1e-7);  // one rounding to float
          CHECK(mean.is_masked(row, column) == (column > row));
          sum += double{mean.at(row, column)};
          largest = std::max(largest, expected);
        }
        CHECK(sum == doctest::Approx(1.0).epsilon(1e-6));
        CHECK(1.0 / double{mean.row_sum[row]} == doctest::Approx(largest).epsilon(1e-6));
      }
    }
  }

  TEST_CASE("a pooled mean is the maximum of means, not a mean of maxima, and a part is a part of the whole") {
    Run run(causal_playground());
    const attention::Tile exact = run.mean({.quantity = kMeanOfLayer, .rows = 7, .columns = 7}, 1000);
    const attention::Tile pooled = run.mean({.quantity = kMeanOfLayer, .rows = 7, .columns = 7, .pool = 2}, 1000);
    REQUIRE(pooled.values.size() == 16);
    REQUIRE(pooled.row_sum.size() == 7);
    for (std::uint32_t row = 0; row < 4; ++row) {
      for (std::uint32_t column = 0; column < 4; ++column) {
        float largest = 0.0F;
        for (std::uint32_t r = 2 * row; r < std::min(2 * row + 2, 7U); ++r) {
          for (std::uint32_t c = 2 * column; c < std::min(2 * column + 2, 7U); ++c) {
            largest = std::max(largest, exact.at(r, c));
          }
        }
        CHECK(pooled.at(row, column) == largest);
      }
    }
    const attention::Tile part = run.mean({.quantity = kMeanOfLayer, .row = 3, .rows = 2, .column = 1, .columns = 3}, 1000);
    CHECK(part.at(1, 2) == exact.at(4, 3));
    CHECK(part.row_sum[1] == exact.row_sum[4]);  // of the whole row
  }

  TEST_CASE("the engine evaluates means between other tiles, and a wanted one survives a new request") {
    EngineWorker worker({.open = open_reference_runner,
                         .tile_bytes = std::size_t{1} << 20,
                         .models = std::make_shared<ModelCache>(),
                         .watch_load = {}});
    worker.open("");
    const State state = causal_playground();
    const TileQuery mean{.quantity = kMeanOfKind, .rows = 7, .columns = 7};
    const TileQuery head{.head = 1, .rows = 7, .columns = 7};
    EngineRequest request{.revision = 1, .inputs = run_inputs(state), .queries = {mean, head}};
    worker.begin(request);
    while (worker.has_more()) worker.evaluate_some();
    CHECK(worker.snapshot().error == "");
    REQUIRE(worker.snapshot().tile(mean));
    CHECK(worker.snapshot().is_current(mean));
    CHECK(worker.snapshot().tile(head));
    CHECK(worker.snapshot().has_all_tiles);
    // The mean of another run is computed anew; a quantity that no table lists can't be asked for.
    const attention::Tile first = *worker.snapshot().tile(mean);
    std::get<Playground>(request.inputs.source).settings.seed = 9;
    request.revision = 2;
    const TileQuery unknown{.quantity = QuantityId(quantities().size()), .rows = 7, .columns = 7};
    request.queries = {unknown, mean};
    worker.begin(request);
    while (worker.has_more()) worker.evaluate_some();
    CHECK(worker.snapshot().error == "");
    CHECK(worker.snapshot().tile(unknown) == nullptr);
    CHECK(worker.snapshot().tile(mean)->values != first.values);
  }

  TEST_CASE("the memory of cross-attention comes with the run that asks for it") {
    EngineWorker worker({.open = open_reference_runner,
                         .tile_bytes = std::size_t{1} << 20,
                         .models = std::make_shared<ModelCache>(),
                         .watch_load = {}});
    worker.open("");
    State state;
    state.text() = "Life is short";
    state.playground().key_text = "eat dessert first";
    state.playground().cross = true;
    EngineRequest request{.revision = 1, .inputs = run_inputs(state)};
    worker.begin(request);
    CHECK(worker.snapshot().memory == nullptr);
    request.queries = {MemoryQuery()};
    worker.begin(request);
    while (worker.has_more()) worker.evaluate_some();
    const std::shared_ptr<const Tensor> memory = worker.snapshot().memory;
    REQUIRE(memory);
    REQUIRE(memory->shape.size() == 3);
    CHECK(memory->axis(1) == 3);
    // K = memory · W_K + b gives the keys of the run.
    const EngineResult result = worker.snapshot();
    const model::BlockRef block{.kind = model::BlockKind::Cross};
    const model::Linear& linear = result.network->layer(block).weights->key;
    const TileQuery keys{.quantity = Stage::K, .block = block, .rows = 3, .columns = 2};
    request.queries = {keys};
    worker.begin(request);
    while (worker.has_more()) worker.evaluate_some();
    const std::shared_ptr<const Tensor> again = worker.snapshot().memory;
    REQUIRE(again);
    std::vector<float> weights(linear.in());
    linear.weight.read(1, 1, weights);
    std::vector<float> bias(1, 0.0F);
    if (linear.has_bias()) linear.bias.read(1, 1, bias);
    double sum = double{bias.front()};
    for (std::size_t i = 0; i < weights.size(); ++i) sum += double{weights[i]} * double{again->values[2 * linear.in() + i]};
    CHECK(double{worker.snapshot().tile(keys)->at(2, 1)} == doctest::Approx(sum).epsilon(1e-5));
  }
}

}  // namespace head_mean_test
