// The table of quantities, and differences of two runs.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <doctest/doctest.h>

#include "app/engine/engine_worker.h"
#include "app/shapes/quantities/evaluation.h"
#include "engine/evaluate.h"
#include "engine/reference_runner.h"

namespace quantities_test {

using namespace headlight;
using namespace headlight::app;
using attention::Stage;

namespace {

constexpr model::BlockRef kFirst = {.kind = model::BlockKind::EncoderSelf, .layer = {0}};
constexpr model::BlockRef kSecond = {.kind = model::BlockKind::EncoderSelf, .layer = {1}};

State playground() {
  State state;
  state.text() = "one two three four five";
  state.playground().settings.d_model = 12;
  state.playground().settings.heads = 3;
  state.playground().settings.layers = 2;
  return state;
}

/// Returns the state with the same text and other weights.
State other_weights(std::uint64_t seed = 9) {
  State state = playground();
  state.playground().settings.seed = seed;
  return state;
}

std::shared_ptr<const inference::Run> run_of(const State& state) {
  RunSource sources;
  const RunSource::Source& source = sources.build(run_inputs(state));
  return std::make_shared<ReferenceRun>(
      inference::PassInputs{.network = source.network,
                            .input = *source.input,
                            .masks = state.masks,
                            .interventions = inference::interventions_of(state.gains, *source.network)});
}

TileQuery whole(QuantityId id, const inference::Run& run, model::BlockRef block, std::uint32_t head = 0) {
  const auto extent = *quantity(id).shape(run.shape(block));
  return {.quantity = id, .block = block, .head = head, .rows = extent.rows, .columns = extent.columns};
}

/// A worker on the reference's device, and a request of the weights' difference in the second layer.
struct Desk {
  EngineWorker worker{{.open = open_reference_runner,
                       .tile_bytes = std::size_t{1} << 20,
                       .models = std::make_shared<ModelCache>(),
                       .watch_load = {}}};
  TileQuery difference{.quantity = difference_of(Stage::Weights), .block = kSecond, .head = 2, .rows = 5, .columns = 5};
  std::uint64_t revision = 0;

  Desk() { worker.open(""); }

  EngineResult compare(const State& shown, const std::optional<State>& reference) {
    EngineRequest request{.revision = ++revision, .inputs = run_inputs(shown), .queries = {difference}};
    if (reference) request.baseline = run_inputs(*reference);
    worker.begin(request);
    while (worker.has_more()) worker.evaluate_some();
    REQUIRE(worker.snapshot().error == "");
    return worker.snapshot();
  }
};

float farthest(const attention::Tile& tile) {
  float value = 0.0F;
  for (const float cell : tile.values) value = std::max(value, std::abs(cell));
  return value;
}

}  // namespace

TEST_SUITE_BEGIN("cpu");

TEST_CASE("every line of the table is complete, and found by its id") {
  std::set<std::string> ids;
  const std::shared_ptr<const inference::Run> run = run_of(playground());
  for (std::size_t index = 0; index < quantities().size(); ++index) {
    const Quantity& line = quantities()[index];
    CAPTURE(line.id);
    CHECK(ids.insert(line.id).second);
    REQUIRE(find_quantity(line.id));
    CHECK(find_quantity(line.id)->index() == index);
    for (const std::string* text : {&line.title, &line.symbol, &line.figure_title, &line.value_title}) CHECK(*text != "");
    CHECK(line.is_map() == !line.unit.empty());
    CHECK(line.is_map() == (line.columns == Axis::Key));
    CHECK((line.columns == Axis::Feature || line.columns == Axis::Expert) == !line.width.empty());
    REQUIRE((line.formula != nullptr));
    CHECK(line.formula({.block = kFirst, .layer = nullptr, .head = 0}) != "");
    // The playground has no feed-forward, and no scores of distances.
    const bool may_be_missing =
        attention::is_of_stream(line.stage) || line.stage == Stage::ContentPosition || line.stage == Stage::PositionContent;
    if (may_be_missing && !line.shape(run->shape(kFirst))) continue;
    CHECK(line.shape(run->shape(kFirst)).has_value());
    CHECK(space_of(line, run->shape(kFirst), kFirst.kind).starts_with("ℝ^{n×"));
    REQUIRE((line.evaluate != nullptr));
    const attention::Tile tile = evaluate({.run = *run, .baseline = run.get()}, whole(QuantityId(index), *run, kSecond));
    CHECK(tile.values.size() == std::size_t{tile.request.rows} * tile.request.columns);
    CHECK(tile.request.stage == line.stage);
  }
  CHECK_FALSE(find_quantity("nothing"));
  CHECK(to_string(quantity(Stage::K).rows) == "key token");
}

TEST_CASE("stages are the first lines, under the names of files and flags") {
  for (std::size_t index = 0; index < attention::kStages; ++index) {
    const auto stage = static_cast<Stage>(index);
    const Quantity& line = quantity(stage);
    CHECK(line.stage == stage);
    CHECK(line.id == attention::to_string(stage));
    CHECK((line.scope == Scope::Head) == attention::is_per_head(stage));
    CHECK((line.colors == ColorKind::Sequential) == (stage == Stage::Weights || stage == Stage::FfnGates));
    CHECK(quantity(difference_of(stage)).base == QuantityId(stage));
    CHECK(quantity(difference_of(stage)).colors == ColorKind::Diverging);
  }
  CHECK(quantity(kMeanOfLayer).id == "mean-layer");
  CHECK(quantity(kMeanOfKind).id == "mean-all");
  CHECK(quantity(difference_of(kMeanOfKind)).id == "difference-mean-all");
}

TEST_CASE("a tile outside its matrix is none") {
  const BlockShapes shapes = shapes_of(*run_of(playground()));
  const TileQuery inside{.block = kFirst, .head = 2, .rows = 5, .columns = 5};
  CHECK(is_inside(inside, shapes));
  TileQuery query = inside;
  query.head = 3;
  CHECK_FALSE(is_inside(query, shapes));
  query.quantity = kMeanOfLayer;  // which has no heads
  CHECK(is_inside(query, shapes));
  query.row = 1;
  CHECK_FALSE(is_inside(query, shapes));
  query = inside;
  query.block.layer = LayerIndex{2};
  CHECK_FALSE(is_inside(query, shapes));
  query = inside;
  query.pool = 0;
  CHECK_FALSE(is_inside(query, shapes));
  CHECK_THROWS_AS(evaluate({.run = *run_of(playground())}, query), Error);
}

TEST_CASE("a difference is the run's cell less the reference's, in every quantity") {
  const std::shared_ptr<const inference::Run> run = run_of(other_weights());
  const std::shared_ptr<const inference::Run> reference = run_of(playground());
  for (std::size_t index = 0; index < quantities().size(); ++index) {
    if (quantities()[index].base) continue;
    const QuantityId id(index);
    CAPTURE(quantity(id).id);
    for (const model::BlockRef block : {kFirst, kSecond}) {
      if (!quantity(id).shape(run->shape(block))) continue;  // of a feed-forward
      TileQuery query = whole(id, *run, block, quantity(id).scope == Scope::Head ? 2 : 0);
      const attention::Tile left = evaluate({.run = *run}, query);
      const attention::Tile right = evaluate({.run = *reference}, query);
      query.quantity = difference_of(id);
      const attention::Tile difference = evaluate({.run = *run, .baseline = reference.get()}, query);
      REQUIRE(difference.values.size() == left.values.size());
      for (std::size_t cell = 0; cell < left.values.size(); ++cell) {
        CHECK(difference.values[cell] == left.values[cell] - right.values[cell]);
      }
      CHECK(difference.row_sum.empty());
      CHECK(difference.masked == left.masked);
      if (block == kSecond) CHECK(farthest(difference) > 1e-4F);
    }
  }
  CHECK_THROWS_AS(evaluate({.run = *run}, whole(difference_of(Stage::Weights), *run, kFirst)), Error);
}

TEST_CASE("weights of the baseline, and their means, are the reference's own") {
  const std::shared_ptr<const inference::Run> run = run_of(other_weights());
  const std::shared_ptr<const inference::Run> reference = run_of(playground());
  for (const QuantityId id : {QuantityId(Stage::Weights), kMeanOfLayer, kMeanOfKind}) {
    CAPTURE(quantity(id).id);
    CHECK(quantity(baseline_of(id)).base == id);
    for (const std::uint32_t pool : {1U, 2U}) {
      TileQuery query = whole(id, *run, kFirst, id == QuantityId(Stage::Weights) ? 1 : 0);
      query.pool = pool;
      const attention::Tile expected = evaluate({.run = *reference}, query);
      const attention::Tile present = evaluate({.run = *run}, query);
      query.quantity = baseline_of(id);
      const attention::Tile found = evaluate({.run = *run, .baseline = reference.get()}, query);
      CHECK(found.values == expected.values);
      CHECK(found.values != present.values);
      CHECK(found.masked == expected.masked);
      CHECK(found.row_sum == expected.row_sum);
    }
  }
  CHECK_THROWS_AS(evaluate({.run = *run}, whole(baseline_of(Stage::Weights), *run, kFirst)), Error);
}

TEST_CASE("matrices are pooled by rows and columns apart, their differences too") {
  const std::shared_ptr<const inference::Run> run = run_of(other_weights());
  const std::shared_ptr<const inference::Run> reference = run_of(playground());
  for (const QuantityId id : {QuantityId(Stage::Q), difference_of(Stage::Q)}) {
    TileQuery query = whole(id, *run, kSecond, 1);
    const attention::Tile exact = evaluate({.run = *run, .baseline = reference.get()}, query);
    query.pool = 2;
    query.pooled_columns = 1;
    const attention::Tile pooled = evaluate({.run = *run, .baseline = reference.get()}, query);
    REQUIRE(pooled.values.size() == 3 * query.columns);
    for (std::uint32_t column = 0; column < query.columns; ++column) {
      CHECK(std::abs(pooled.at(0, column) - (exact.at(0, column) + exact.at(1, column)) / 2.0F) < 1e-6F);
      CHECK(pooled.at(2, column) == exact.at(4, column));
    }
  }
  // A pooled value of a map is the largest, or of differences the farthest from 0, of two columns of one row.
  for (const QuantityId id : {QuantityId(Stage::Weights), kMeanOfLayer, kNorms, difference_of(Stage::Weights)}) {
    CAPTURE(quantity(id).id);
    TileQuery map = whole(id, *run, kSecond, quantity(id).scope == Scope::Head ? 1 : 0);
    const attention::Tile exact = evaluate({.run = *run, .baseline = reference.get()}, map);
    map.pooled_columns = 2;
    const attention::Tile pooled = evaluate({.run = *run, .baseline = reference.get()}, map);
    REQUIRE(pooled.request.tile_rows() == map.rows);
    REQUIRE(pooled.values.size() == std::size_t{map.rows} * ((map.columns + 1) / 2));
    for (std::uint32_t row = 0; row < map.rows; ++row) {
      for (std::uint32_t column = 0; column < map.columns; column += 2) {
        const float left = exact.at(row, column), right = column + 1 < map.columns ? exact.at(row, column + 1) : left;
        CHECK(pooled.at(row, column / 2) == (std::abs(right) > std::abs(left) ? right : left));
      }
    }
  }
}

TEST_CASE("a pooled difference of weights is the farthest from 0, with its sign") {
  const std::shared_ptr<const inference::Run> run = run_of(other_weights());
  const std::shared_ptr<const inference::Run> reference = run_of(playground());
  for (const QuantityId id : {QuantityId(Stage::Weights), kMeanOfLayer}) {
    TileQuery query = whole(difference_of(id), *run, kSecond);
    const attention::Tile exact = evaluate({.run = *run, .baseline = reference.get()}, query);
    query.pool = 2;
    const attention::Tile pooled = evaluate({.run = *run, .baseline = reference.get()}, query);
    REQUIRE(pooled.values.size() == 9);
    for (std::uint32_t row = 0; row < 3; ++row) {
      for (std::uint32_t column = 0; column < 3; ++column) {
        float expected = 0.0F;
        for (std::uint32_t r = 2 * row; r < std::min(2 * row + 2, 5U); ++r) {
          for (std::uint32_t c = 2 * column; c < std::min(2 * column + 2, 5U); ++c) {
            if (std::abs(exact.at(r, c)) > std::abs(expected)) expected = exact.at(r, c);
          }
        }
        CHECK(pooled.at(row, column) == expected);
      }
    }
  }
}

TEST_CASE("cells that both runs mask differ by nothing, cells that one masks by the fill") {
  State causal = playground();
  causal.masks[model::BlockKind::EncoderSelf].rule.causal = true;
  causal.masks[model::BlockKind::EncoderSelf].fill = attention::MaskFill::NegativeInfinity;
  const std::shared_ptr<const inference::Run> run = run_of(causal);
  const std::shared_ptr<const inference::Run> open = run_of(playground());
  const TileQuery query = whole(difference_of(Stage::Masked), *run, kFirst);
  const attention::Tile both = evaluate({.run = *run, .baseline = run.get()}, query);
  const attention::Tile one = evaluate({.run = *run, .baseline = open.get()}, query);
  for (std::uint32_t row = 0; row < 5; ++row) {
    for (std::uint32_t column = 0; column < 5; ++column) {
      CHECK(both.at(row, column) == 0.0F);
      CHECK(both.is_masked(row, column) == (column > row));
      CHECK_FALSE(one.is_masked(row, column));
      if (column > row) CHECK(one.at(row, column) == -std::numeric_limits<float>::infinity());
    }
  }
}

TEST_CASE("the engine takes differences from a reference run, and anew when either run changes") {
  Desk desk;
  CHECK(desk.compare(other_weights(), std::nullopt).tile(desk.difference) == nullptr);
  EngineResult result = desk.compare(other_weights(), playground());
  CHECK(result.baseline_error == "");
  REQUIRE(result.is_current(desk.difference));
  TileQuery weights = desk.difference;
  weights.quantity = Stage::Weights;
  const std::vector<float> left = evaluate({.run = *run_of(other_weights())}, weights).values;
  const std::vector<float> right = evaluate({.run = *run_of(playground())}, weights).values;
  for (std::size_t cell = 0; cell < left.size(); ++cell) {
    CHECK(result.tile(desk.difference)->values[cell] == left[cell] - right[cell]);
  }
  const std::shared_ptr<const attention::Tile> first = result.tiles.at(desk.difference).tile;
  // Asking for the same again evaluates nothing; another baseline does, and so does another run.
  result = desk.compare(other_weights(), playground());
  CHECK(result.tiles.at(desk.difference).tile == first);
  State other = playground();
  other.masks[model::BlockKind::EncoderSelf].rule.causal = true;
  result = desk.compare(other_weights(), other);
  CHECK(result.is_current(desk.difference));
  const std::vector<float> second = result.tile(desk.difference)->values;
  CHECK(second != first->values);
  const State later = other_weights(10);
  result = desk.compare(later, other);
  CHECK(result.is_current(desk.difference));
  CHECK(result.tile(desk.difference)->values != second);
  // Compared with itself a run has no differences, and later ones are compared with what it was.
  result = desk.compare(later, later);
  CHECK(farthest(*result.tile(desk.difference)) == 0.0F);
  result = desk.compare(other_weights(), later);
  CHECK(farthest(*result.tile(desk.difference)) > 0.0F);
  CHECK(desk.compare(other_weights(), std::nullopt).tile(desk.difference) == nullptr);
}

TEST_CASE("runs that can't be compared say why, and nothing else fails") {
  Desk desk;
  State longer = playground();
  longer.text() += "\nsix";
  CHECK(desk.compare(playground(), longer).baseline_error ==
        "the baseline has 2 × 5 queries and 5 keys, this run 1 × 5 and 5");
  CHECK(desk.worker.snapshot().tile(desk.difference) == nullptr);
  // The newest run is compared as soon as it has its shape.
  CHECK(desk.compare(longer, longer).baseline_error == "");
  State fewer = playground();
  fewer.playground().settings.heads = 4;
  CHECK(desk.compare(playground(), fewer).baseline_error == "the baseline has other layers or heads");
  State model = playground();
  change_to_model(model, "/nowhere/model");
  CHECK(desk.compare(playground(), model).baseline_error == "the baseline is of a model, this one isn't");
  State broken = playground();
  broken.playground().settings.heads = 5;  // which doesn't divide d_model
  CHECK(desk.compare(playground(), broken).baseline_error.starts_with("the baseline: "));
  CHECK(desk.compare(playground(), playground()).baseline_error == "");
}

TEST_SUITE_END();

}  // namespace quantities_test
