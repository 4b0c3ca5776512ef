// A run compared with a baseline: which heads changed, and both predictions.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "app/engine/analyses/changes.h"
#include "app/state/comparison.h"
#include "engine/asked_analysis.h"

namespace comparison_test {

using namespace headlight;
using namespace headlight::app;

namespace {

const AnalysisQuery kQuery = ChangedHeadsQuestion();

/// The engine's answers while it compares.
EngineResult answer(AskedAnalysis& asked, const std::optional<RunInputs>& reference, std::vector<Query> queries) {
  asked.worker.begin({.revision = ++asked.revision,
                      .inputs = run_inputs(asked.state),
                      .queries = std::move(queries),
                      .baseline = reference});
  while (asked.worker.has_more()) asked.worker.evaluate_some();
  return asked.worker.snapshot();
}

/// The weights of a head, whole.
Tensor weights_of(AskedAnalysis& asked, const HeadRef& head) {
  const inference::BlockShape shape = asked.worker.snapshot().shapes.at(head.block);
  const TileQuery query{.block = head.block, .head = head.head, .rows = shape.queries, .columns = shape.keys};
  const EngineResult result = answer(asked, std::nullopt, {query});
  return {{shape.queries, shape.keys}, result.tile(query)->values};
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("heads are listed by how much of their attention moved, with the cell that changed most") {
    AskedAnalysis asked("gpt2");
    const RunInputs baseline = run_inputs(asked.state);
    answer(asked, baseline, {});
    std::map<HeadRef, Tensor> then;
    for (const auto& [block, shape] : asked.worker.snapshot().shapes) {
      for (std::uint32_t head = 0; head < shape.heads; ++head) {
        const HeadRef ref{.block = block, .head = head};
        then[ref] = weights_of(asked, ref);
      }
    }
    asked.state.masks[model::BlockKind::EncoderSelf].painted[{.layer = 0, .batch = {}, .head = 1}].paint(
        {.query = 4, .key = 2}, false);
    const EngineResult result = answer(asked, baseline, {kQuery});
    REQUIRE(result.baseline_error == "");
    REQUIRE(result.analysed(kQuery));
    const auto& found = found_in<ChangedHeads>(*result.analysed(kQuery));
    CHECK(found.all_heads == then.size());
    // Only the masked head changes in the first layer, all heads in the next one.
    const std::size_t in_first = static_cast<std::size_t>(
        std::ranges::count_if(found.heads, [](const ChangedHead& changed) { return changed.head.block.layer.value == 0; }));
    CHECK(in_first == 1);
    CHECK(found.heads.size() > 1);
    double before = 1.0;
    for (const ChangedHead& changed : found.heads) {
      const Tensor now = weights_of(asked, changed.head);
      const Tensor& was = then.at(changed.head);
      double moved = 0.0, largest = 0.0;
      for (std::size_t i = 0; i < now.values.size(); ++i) {
        const double change = std::abs(double{now.values[i]} - double{was.values[i]});
        moved += 0.5 * change / now.shape[0];
        largest = std::max(largest, change);
      }
      CHECK(std::abs(changed.moved - moved) <= 1e-6);
      CHECK(changed.moved <= before);
      before = changed.moved;
      const std::size_t cell = std::size_t{changed.cell.query} * now.shape[1] + changed.cell.key;
      CHECK(changed.now == now.values[cell]);
      CHECK(changed.then == was.values[cell]);
      CHECK(std::abs(double{changed.now} - double{changed.then}) == doctest::Approx(largest));
    }
  }

  TEST_CASE("cells are listed by how much their weights changed, of a head and of means over heads") {
    AskedAnalysis asked("gpt2");
    const RunInputs baseline = run_inputs(asked.state);
    answer(asked, baseline, {});
    const BlockShapes shapes = asked.worker.snapshot().shapes;
    const auto all_weights = [&] {
      std::map<HeadRef, Tensor> weights;
      for (const auto& [block, shape] : shapes) {
        for (std::uint32_t head = 0; head < shape.heads; ++head) {
          weights[{.block = block, .head = head}] = weights_of(asked, {.block = block, .head = head});
        }
      }
      return weights;
    };
    const std::map<HeadRef, Tensor> then = all_weights();
    asked.state.masks[model::BlockKind::EncoderSelf].painted[{.layer = 0, .batch = {}, .head = 1}].paint(
        {.query = 4, .key = 2}, false);
    answer(asked, baseline, {});
    const std::map<HeadRef, Tensor> now = all_weights();
    for (const HeadMean mean : {HeadMean::None, HeadMean::Layer, HeadMean::Kind}) {
      CAPTURE(static_cast<int>(mean));
      const Selection selection{.block = encoder_block(1), .head = 2, .mean = mean};
      const AnalysisQuery query = changed_cells_query(selection);
      const EngineResult result = answer(asked, baseline, {query});
      REQUIRE(result.analysed(query));
      const auto& found = found_in<ChangedCells>(*result.analysed(query));
      std::vector<double> expected(now.begin()->second.values.size());
      double heads = 0.0;
      for (const auto& [head, weights] : now) {
        const bool counts = mean == HeadMean::Kind ||
                            (head.block == selection.block && (mean == HeadMean::Layer || head.head == selection.head));
        if (!counts) continue;
        ++heads;
        for (std::size_t i = 0; i < expected.size(); ++i) {
          expected[i] += double{weights.values[i]} - double{then.at(head).values[i]};
        }
      }
      REQUIRE_FALSE(found.cells.empty());
      CHECK(found.cells.size() <= ChangedCells::kMax);
      CHECK(found.changed >= found.cells.size());
      double before = 1.0;
      for (const ChangedCell& cell : found.cells) {
        const std::size_t at = std::size_t{cell.cell.query} * shapes.at(selection.block).keys + cell.cell.key;
        CHECK(std::abs(cell.change() - expected[at] / heads) <= 1e-12);  // observed 2e-17
        CHECK(std::abs(cell.change()) <= before);
        before = std::abs(cell.change());
      }
      const double largest = std::abs(*std::ranges::max_element(expected, {}, [](double one) { return std::abs(one); }));
      CHECK(std::abs(std::abs(found.cells.front().change()) - largest / heads) <= 1e-12);
    }
    AnalysisQuery wrong = changed_cells_query({.block = encoder_block(9)});
    const EngineResult refused = answer(asked, baseline, {wrong});
    REQUIRE(refused.analysed(wrong));
    CHECK(refused.analysed(wrong)->error == "this run has no such map");
  }

  TEST_CASE("nothing changed, nothing to compare with, and another reference") {
    AskedAnalysis asked("gpt2");
    const RunInputs baseline = run_inputs(asked.state);
    const EngineResult same = answer(asked, baseline, {kQuery});
    REQUIRE(same.analysed(kQuery));
    CHECK(found_in<ChangedHeads>(*same.analysed(kQuery)).heads.empty());
    CHECK(answer(asked, std::nullopt, {kQuery}).analysed(kQuery) == nullptr);
    // The present run is the same here: findings about one baseline aren't shown for another.
    RunInputs other = baseline;
    other.masks[model::BlockKind::EncoderSelf].rule.window = 2;
    const EngineResult changed = answer(asked, other, {kQuery});
    REQUIRE(changed.analysed(kQuery));
    CHECK_FALSE(found_in<ChangedHeads>(*changed.analysed(kQuery)).heads.empty());
    const AnalysisQuery wrong = ChangedHeadsQuestion{.batch = 3};
    const EngineResult refused = answer(asked, other, {wrong});
    REQUIRE(refused.analysed(wrong));
    CHECK(refused.analysed(wrong)->error == "this run has 1 lines");
    other.source = Playground{};
    const EngineResult apart = answer(asked, other, {kQuery});
    CHECK(apart.baseline_error == "this run is of a model, the baseline isn't");
    CHECK(apart.analysed(kQuery) == nullptr);
  }

  TEST_CASE("predictions of the baseline are its own, whatever the present one is") {
    AskedAnalysis asked("gpt2");
    const PredictionQuery now{.token = 4, .layer = 2, .keeps_logits = true};
    PredictionQuery then = now;
    then.is_of_baseline = true;
    const RunInputs baseline = run_inputs(asked.state);
    const std::vector<float> own = *answer(asked, std::nullopt, {now}).prediction(now)->logits;
    CHECK(answer(asked, std::nullopt, {then}).prediction(then) == nullptr);
    asked.state.masks[model::BlockKind::EncoderSelf].rule.window = 1;
    const EngineResult both = answer(asked, baseline, {now, then});
    REQUIRE(both.prediction(then));
    CHECK(*both.prediction(then)->logits == own);
    CHECK(*both.prediction(now)->logits != own);
    const EngineResult itself = answer(asked, run_inputs(asked.state), {now, then});
    CHECK(*itself.prediction(then)->logits == *itself.prediction(now)->logits);
  }
}

}  // namespace comparison_test
