// Norm-weighted attention as a quantity: against products in double, in tiles, pooled, and from keystroke to keystroke.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "app/engine/engine_worker.h"
#include "app/shapes/quantities/evaluation.h"
#include "engine/evaluate.h"
#include "engine/reference_runner.h"

namespace norms_test {

using namespace headlight;
using namespace headlight::app;
using attention::Stage;

namespace {

constexpr model::BlockRef kFirst = {.kind = model::BlockKind::EncoderSelf, .layer = {0}};
constexpr model::BlockRef kSecond = {.kind = model::BlockKind::EncoderSelf, .layer = {1}};

State playground(std::uint32_t d_model = 12, std::uint32_t heads = 3) {
  State state;
  state.text() = "one two three four five six seven";
  state.playground().settings.d_model = d_model;
  state.playground().settings.heads = heads;
  state.playground().settings.layers = 2;
  return state;
}

State golden_model(const std::string& name) {
  State state;
  state.text() = "the cat sat on the mat";
  change_to_model(state, std::string(HEADLIGHT_GOLDEN_DIR) + "/models/" + name);
  return state;
}

State notebook(const std::string& name) {
  State state;
  select_preset(state, name);
  return state;
}

struct Subject {
  RunSource sources;
  std::shared_ptr<const inference::Run> run;

  explicit Subject(const State& state, model::MergeOrder merge = model::MergeOrder::Concatenate) {
    const RunSource::Source& source = sources.build(run_inputs(state));
    auto network = std::make_shared<model::Network>(*source.network);
    model::Layers layers = *network->layers;
    for (model::AttentionLayer& layer : layers.encoder) layer.config.merge = merge;
    network->layers = std::make_shared<const model::Layers>(std::move(layers));
    run = std::make_shared<ReferenceRun>(
        inference::PassInputs{.network = network,
                              .input = *source.input,
                              .masks = state.masks,
                              .interventions = inference::interventions_of(state.gains, *source.network)});
  }
  attention::Tile evaluate(const TileQuery& query) const { return app::evaluate({.run = *run}, query); }
};

TileQuery whole(QuantityId id, const inference::Run& run, model::BlockRef block, std::uint32_t head = 0) {
  const auto extent = *quantity(id).shape(run.shape(block));
  return {.quantity = id, .block = block, .head = head, .rows = extent.rows, .columns = extent.columns};
}

/// The vector that a key adds to a row of the attention's output: weight · v · W_O, by the definition.
struct Added {
  std::uint32_t row = 0;
  std::vector<double> vector;
};
Added added(const Subject& subject, model::BlockRef block, std::uint32_t head, std::uint32_t query, std::uint32_t key) {
  const inference::BlockShape shape = subject.run->shape(block);
  const model::AttentionLayer& layer = subject.run->inputs().network->layer(block);
  const Tensor output = layer.weights->output->weight.tensor();  // [d_out, heads·d_v]
  const attention::Tile values = subject.evaluate(whole(Stage::V, *subject.run, block, head));
  const float weight = subject.evaluate(whole(Stage::Weights, *subject.run, block, head)).at(query, key);
  const bool is_concatenated = layer.config.merge == model::MergeOrder::Concatenate;
  const std::uint32_t flat = head * shape.queries + query;  // among [head, query], rows of d_v numbers
  Added result{.row = is_concatenated ? query : flat / shape.heads, .vector = std::vector<double>(shape.d_output)};
  const std::size_t part = is_concatenated ? head : flat % shape.heads;
  for (std::size_t out = 0; out < shape.d_output; ++out) {
    for (std::uint32_t i = 0; i < shape.d_v; ++i) {
      result.vector[out] +=
          double{weight} * double{values.at(key, i)} * double{output.values[out * shape.d_merged + part * shape.d_v + i]};
    }
  }
  return result;
}

double length(const std::vector<double>& vector) {
  double sum = 0.0;
  for (const double number : vector) sum += number * number;
  return std::sqrt(sum);
}

/// All cells of all heads of a block against the definition, whose vectors and the bias sum to the attention's output.
void check_block(const Subject& subject, model::BlockRef block) {
  const inference::BlockShape shape = subject.run->shape(block);
  const model::AttentionLayer& layer = subject.run->inputs().network->layer(block);
  const attention::Tile output = subject.evaluate(whole(Stage::Output, *subject.run, block));
  const Tensor bias = layer.weights->output->bias.is_empty() ? Tensor{{shape.d_output}, std::vector<float>(shape.d_output)}
                                                             : layer.weights->output->bias.tensor();
  std::vector<std::vector<double>> sums(shape.queries, std::vector<double>(bias.values.begin(), bias.values.end()));
  double worst = 0.0;
  for (std::uint32_t head = 0; head < shape.heads; ++head) {
    const attention::Tile norms = subject.evaluate(whole(kNorms, *subject.run, block, head));
    for (std::uint32_t query = 0; query < shape.queries; ++query) {
      for (std::uint32_t key = 0; key < shape.keys; ++key) {
        const Added part = added(subject, block, head, query, key);
        for (std::size_t i = 0; i < part.vector.size(); ++i) sums[part.row][i] += part.vector[i];
        const double off = std::abs(double{norms.at(query, key)} - length(part.vector));
        if (!(off <= worst)) worst = off;
      }
    }
  }
  CHECK(worst < 1e-5);  // observed 4e-8
  double unlike = 0.0;
  for (std::uint32_t query = 0; query < shape.queries; ++query) {
    for (std::uint32_t i = 0; i < shape.d_output; ++i) {
      const double off = std::abs(sums[query][i] - double{output.at(query, i)});
      if (!(off <= unlike)) unlike = off;
    }
  }
  CHECK(unlike < 1e-4);  // observed 8e-7
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a norm is the length of what a key adds, for pre-norm, post-norm, grouped and untransposed heads") {
    for (const char* name : {"gpt2", "bert", "llama"}) {
      CAPTURE(name);
      const Subject subject(golden_model(name));
      check_block(subject, kFirst);
      check_block(subject, kSecond);
    }
    check_block(Subject(playground()), kSecond);
    check_block(Subject(notebook("notebook-002")), {.kind = model::BlockKind::Cross, .layer = {1}});
    check_block(Subject(playground(), model::MergeOrder::WithoutTranspose), kSecond);
  }

  TEST_CASE("heads wider than the product with W_O pays for are multiplied value by value") {
    State state = playground(320, 1);
    state.text() = "one two";
    check_block(Subject(state), kFirst);
  }

  TEST_CASE("without an output projection it is the length of the weighted value") {
    const Subject subject(notebook("notebook-003"));
    const model::BlockRef block = subject.run->blocks().front();
    const attention::Tile norms = subject.evaluate(whole(kNorms, *subject.run, block));
    const attention::Tile weights = subject.evaluate(whole(Stage::Weights, *subject.run, block));
    const attention::Tile values = subject.evaluate(whole(Stage::V, *subject.run, block));
    for (std::uint32_t query = 0; query < norms.request.rows; ++query) {
      for (std::uint32_t key = 0; key < norms.request.columns; ++key) {
        double squares = 0.0;
        for (std::uint32_t i = 0; i < values.request.columns; ++i) squares += std::pow(double{values.at(key, i)}, 2.0);
        const double expected = double{weights.at(query, key)} * std::sqrt(squares);
        CHECK(double{norms.at(query, key)} == doctest::Approx(expected).epsilon(1e-6));
        CHECK(norms.is_masked(query, key) == weights.is_masked(query, key));
      }
    }
  }

  TEST_CASE("a head's gain scales its norms, and a mean is over its heads") {
    State state = playground();
    const Subject plain(state);
    state.gains[{kSecond, 1}] = -0.5F;
    state.gains[{kSecond, 2}] = 0.0F;
    const Subject scaled(state);
    const attention::Tile before = plain.evaluate(whole(kNorms, *plain.run, kSecond, 1));
    const attention::Tile after = scaled.evaluate(whole(kNorms, *scaled.run, kSecond, 1));
    const attention::Tile out = scaled.evaluate(whole(kNorms, *scaled.run, kSecond, 2));
    const attention::Tile first = scaled.evaluate(whole(kNorms, *scaled.run, kSecond, 0));
    const attention::Tile mean = scaled.evaluate(whole(kNormsOfLayer, *scaled.run, kSecond));
    const attention::Tile of_all = plain.evaluate(whole(kNormsOfKind, *plain.run, kFirst));
    double sum = 0.0;
    for (std::uint32_t head = 0; head < 3; ++head) {
      sum += double{plain.evaluate(whole(kNorms, *plain.run, kFirst, head)).at(2, 1)};
      sum += double{plain.evaluate(whole(kNorms, *plain.run, kSecond, head)).at(2, 1)};
    }
    CHECK(double{of_all.at(2, 1)} == doctest::Approx(sum / 6.0).epsilon(1e-6));
    for (std::size_t cell = 0; cell < before.values.size(); ++cell) {
      CHECK(after.values[cell] == doctest::Approx(0.5F * before.values[cell]).epsilon(1e-6));
      CHECK(out.values[cell] == 0.0F);
      CHECK(mean.values[cell] == doctest::Approx((first.values[cell] + after.values[cell]) / 3.0F).epsilon(1e-6));
    }
  }

  TEST_CASE("tiles have the whole map's numbers, and squares the largest or the mean of theirs") {
    State state = playground();
    state.masks[model::BlockKind::EncoderSelf].rule.causal = true;
    const Subject subject(state);
    for (const QuantityId id : {kNorms, kNormsOfLayer}) {
      const TileQuery all = whole(id, *subject.run, kSecond, id == kNorms ? 2 : 0);
      const attention::Tile exact = subject.evaluate(all);
      CHECK(exact.row_sum.empty());
      CHECK(exact.is_masked(0, 1));
      CHECK(exact.at(0, 1) == 0.0F);
      TileQuery part = all;
      part.row = 2;
      part.rows = 4;
      part.column = 3;
      part.columns = 2;
      const attention::Tile some = subject.evaluate(part);
      REQUIRE(some.values.size() == 8);
      for (std::uint32_t row = 0; row < 4; ++row) {
        for (std::uint32_t column = 0; column < 2; ++column) {
          CHECK(some.at(row, column) == exact.at(row + 2, column + 3));
        }
      }
      for (const attention::Pooling pooling : {attention::Pooling::Max, attention::Pooling::Mean}) {
        TileQuery pooled = all;
        pooled.pool = 4;
        pooled.pooling = pooling;
        const attention::Tile squares = subject.evaluate(pooled);
        REQUIRE(squares.values.size() == 4);
        for (std::uint32_t square = 0; square < 4; ++square) {
          float largest = 0.0F;
          double sum = 0.0;
          int cells = 0;
          for (std::uint32_t row = square / 2 * 4; row < std::min(square / 2 * 4 + 4, 7U); ++row) {
            for (std::uint32_t column = square % 2 * 4; column < std::min(square % 2 * 4 + 4, 7U); ++column, ++cells) {
              largest = std::max(largest, exact.at(row, column));
              sum += double{exact.at(row, column)};
            }
          }
          const bool is_mean = pooling == attention::Pooling::Mean;
          CHECK(squares.values[square] == doctest::Approx(is_mean ? sum / cells : double{largest}).epsilon(1e-6));
        }
      }
    }
  }

  TEST_CASE("norms are computed in pieces of keys, once for all tiles of a run") {
    const auto subject = std::make_unique<Subject>(playground());
    const std::shared_ptr<const model::Network> network = subject->run->inputs().network;
    inference::BlockShape shape = subject->run->shape(kFirst);
    shape.keys = 10'000;
    HeadNormsCache cache;
    const std::shared_ptr<HeadNorms> norms = cache.find(network, kFirst, 0, 1, 7, shape);
    CHECK(cache.find(network, kFirst, 0, 1, 7, shape) == norms);
    CHECK(cache.find(network, kFirst, 0, 2, 7, shape) != norms);
    CHECK(cache.find(network, kFirst, 0, 1, 8, shape) != norms);
    const auto last = norms->missing(9'000, 10'000);
    REQUIRE(last);
    CHECK(last->first == 8'192);
    CHECK(last->first + last->count == 10'000);
    std::vector<float> values(std::size_t{last->count} * shape.d_v, 1.0F);
    while (norms->missing(9'000, 10'000)) norms->take(*last, values);
    REQUIRE(norms->missing(0, 10'000));
    CHECK(norms->missing(0, 10'000)->first == 0);
    const double once = norms->norm(0, 9'999);
    CHECK(once > 0.0);
    std::ranges::fill(values, 2.0F);
    norms->take(*last, values);  // another tile's answer to the same question
    CHECK(norms->norm(0, 9'999) == once);
  }

  TEST_CASE("of a head the norms of the two runs that were asked for last are kept, of other networks none") {
    const auto subject = std::make_unique<Subject>(playground());
    const std::shared_ptr<const model::Network> network = subject->run->inputs().network;
    const inference::BlockShape shape = subject->run->shape(kFirst);
    HeadNormsCache cache;
    const std::shared_ptr<HeadNorms> baseline = cache.find(network, kFirst, 0, 1, 7, shape);
    for (std::uint64_t version = 8; version < 50; ++version) {
      const std::shared_ptr<HeadNorms> newest = cache.find(network, kFirst, 0, 1, version, shape);
      CHECK(cache.find(network, kFirst, 0, 1, version, shape) == newest);
      CHECK(cache.find(network, kFirst, 0, 1, 7, shape) == baseline);  // asked for with each
      CHECK(cache.size() == 2);
    }
    for (const std::uint32_t head : {0U, 2U}) CHECK(cache.find(network, kFirst, 0, head, 7, shape) != nullptr);
    CHECK(cache.size() == 4);
    const model::Layers other;
    cache.keep_only(std::array<const model::Layers*, 2>{&other, network->layers.get()});
    CHECK(cache.size() == 4);
    cache.keep_only(std::array<const model::Layers*, 1>{&other});
    CHECK(cache.size() == 0);
  }

  TEST_CASE("a model whose norms were shown is closed with the next one") {
    EngineWorker worker{{.open = open_reference_runner,
                         .tile_bytes = std::size_t{1} << 20,
                         .models = std::make_shared<ModelCache>(),
                         .watch_load = [](std::size_t, std::size_t) { return true; }}};
    worker.open("");
    State state;
    const std::string path = std::string(HEADLIGHT_GOLDEN_DIR) + "/models/gpt2";
    select_model(state, path, inference::open_model(path)->masks);
    state.model().ids = {{5, 9, 2, 7}};
    const TileQuery query{.quantity = kNorms, .block = kFirst, .head = 1, .rows = 4, .columns = 4};
    worker.begin({.revision = 1, .inputs = run_inputs(state), .queries = {query}});
    while (worker.has_more()) worker.evaluate_some();
    std::weak_ptr<const model::Network> network;
    {
      const EngineResult result = worker.snapshot();
      REQUIRE(result.error == "");
      REQUIRE(result.tile(query));
      network = result.network;
    }
    CHECK_FALSE(network.expired());
    worker.begin({.revision = 2, .inputs = run_inputs(playground()), .queries = {query}});
    while (worker.has_more()) worker.evaluate_some();
    CHECK(network.expired());
  }

  TEST_CASE("the engine answers norms, and anew when values change") {
    EngineWorker worker{{.open = open_reference_runner,
                         .tile_bytes = std::size_t{1} << 20,
                         .models = std::make_shared<ModelCache>(),
                         .watch_load = {}}};
    worker.open("");
    const TileQuery query{.quantity = kNorms, .block = kSecond, .head = 2, .rows = 7, .columns = 7};
    std::uint64_t revision = 0;
    State state = playground();
    std::vector<float> before;
    for (const std::uint64_t seed : {1ULL, 2ULL}) {
      state.playground().settings.seed = seed;
      worker.begin({.revision = ++revision, .inputs = run_inputs(state), .queries = {query}});
      while (worker.has_more()) worker.evaluate_some();
      const EngineResult result = worker.snapshot();
      REQUIRE(result.error == "");
      REQUIRE(result.is_current(query));
      CHECK(result.tile(query)->values == Subject(state).evaluate(query).values);
      CHECK(result.tile(query)->values != before);
      before = result.tile(query)->values;
    }
  }
}

}  // namespace norms_test
