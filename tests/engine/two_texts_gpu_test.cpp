// Comparisons of two texts of different lengths concern the same tokens.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/engine/analyses/changes.h"
#include "app/engine/analyses/patching.h"
#include "engine/two_runs.h"

namespace two_texts_gpu_test {

using namespace headlight;
using namespace headlight::app;
using attention::Stage;

namespace {

/// The shorter text, and the longer one with the place of each of its tokens there.
const Ids kShort = {5, 9, 2, 7, 5, 9, 11}, kLong = {5, 4, 9, 2, 7, 3, 8, 5, 9, 11};
const std::vector<std::uint32_t> kInLong = {0, 2, 3, 4, 7, 8, 9};
constexpr model::BlockRef kSecond = {.kind = model::BlockKind::EncoderSelf, .layer = {1}};

std::optional<std::uint32_t> in_short(std::uint32_t token) {
  for (std::uint32_t i = 0; i < kInLong.size(); ++i) {
    if (kInLong[i] == token) return i;
  }
  return std::nullopt;
}

TileQuery map_of(QuantityId quantity, std::uint32_t tokens, std::uint32_t pool = 1,
                 attention::Pooling pooling = attention::Pooling::Max) {
  return {.quantity = quantity,
          .block = kSecond,
          .head = 1,
          .rows = tokens,
          .columns = tokens,
          .pool = pool,
          .pooling = pooling};
}

attention::Tile tile_of(TwoRuns& runs, const State& present, const std::optional<State>& other, const TileQuery& query) {
  const EngineResult result = runs.ask(present, other, {query});
  REQUIRE(result.error == "");
  REQUIRE(result.baseline_error == "");
  REQUIRE(result.tile(query));
  return *result.tile(query);
}

/// The run of these tokens alone, for passes with changes of our own.
struct Alone {
  GpuRunner runner{""};
  std::shared_ptr<const inference::Run> run;
  explicit Alone(const State& state, const inference::Interventions& changes = {}) {
    RunSource sources;
    const RunSource::Source& source = sources.build(run_inputs(state));
    runner.load(source.network->layers, inference::Precision::F32, {});
    run = runner.run({.network = source.network, .input = *source.input, .masks = state.masks, .interventions = changes},
                     nullptr);
  }
  std::vector<float> state_of(std::uint32_t layer, std::uint32_t token) const {
    const inference::ResidualRows rows{.layer = layer, .first = token, .count = 1};
    return run->residuals(std::span(&rows, 1)).front().values;
  }
  double logit(std::uint32_t position, std::uint32_t token) const {
    const inference::StateRef state{.token = position, .layer = 2};
    return double{run->logits(std::span(&state, 1)).values[token]};
  }
};

inference::Interventions patch(std::uint32_t layer, std::uint32_t token, std::vector<float> row) {
  inference::Intervention one{.site = model::Site::Residual,
                              .scope = inference::scope_of({.kind = model::BlockKind::EncoderSelf, .layer = {layer}}, 0),
                              .operation = inference::Replace{.item = 0, .first = token, .rows = std::move(row)}};
  return {one};
}

}  // namespace

TEST_SUITE_BEGIN("gpu");

TEST_CASE("differences are those of the same tokens, whichever text is longer") {
  TwoRuns runs;
  const State shorter = text_of("gpt2", kShort), longer = text_of("gpt2", kLong);
  const auto short_tokens = static_cast<std::uint32_t>(kShort.size()),
             long_tokens = static_cast<std::uint32_t>(kLong.size());
  for (const Stage stage : {Stage::Weights, Stage::Scaled}) {
    const attention::Tile of_short = tile_of(runs, shorter, {}, map_of(stage, short_tokens));
    const attention::Tile of_long = tile_of(runs, longer, {}, map_of(stage, long_tokens));
    const attention::Tile down = tile_of(runs, shorter, longer, map_of(difference_of(stage), short_tokens));
    const attention::Tile up = tile_of(runs, longer, shorter, map_of(difference_of(stage), long_tokens));
    std::size_t compared = 0;
    for (std::uint32_t query = 0; query < long_tokens; ++query) {
      for (std::uint32_t key = 0; key < long_tokens; ++key) {
        const auto q = in_short(query), k = in_short(key);
        if (!q || !k) {
          CHECK(up.is_masked(query, key));
          CHECK(std::isnan(up.at(query, key)));
          continue;
        }
        CHECK(up.is_masked(query, key) == (stage == Stage::Weights && key > query));  // before the mask: missing ones alone
        if (stage != Stage::Weights && key > query) continue;
        CHECK(up.at(query, key) == of_long.at(query, key) - of_short.at(*q, *k));
        CHECK(down.at(*q, *k) == of_short.at(*q, *k) - of_long.at(query, key));
        ++compared;
      }
    }
    CHECK(compared >= 28);
  }
}

TEST_CASE("vectors of tokens without a counterpart are missing, others are differences") {
  TwoRuns runs;
  const State shorter = text_of("gpt2", kShort), longer = text_of("gpt2", kLong);
  const auto vectors_of = [](QuantityId quantity, std::uint32_t tokens) {
    return TileQuery{.quantity = quantity, .block = kSecond, .head = 1, .rows = tokens, .columns = 4};
  };
  const attention::Tile of_short = tile_of(runs, shorter, {}, vectors_of(Stage::K, 7));
  const attention::Tile of_long = tile_of(runs, longer, {}, vectors_of(Stage::K, 10));
  const attention::Tile up = tile_of(runs, longer, shorter, vectors_of(difference_of(Stage::K), 10));
  for (std::uint32_t token = 0; token < 10; ++token) {
    const auto other = in_short(token);
    CHECK(up.is_masked(token, 0) == !other.has_value());
    CHECK(std::isnan(up.at(token, 0)) == !other.has_value());
    if (other) CHECK(up.at(token, 3) == of_long.at(token, 3) - of_short.at(*other, 3));
  }
}

TEST_CASE("pooled differences are those of the cells behind them") {
  TwoRuns runs;
  const State shorter = text_of("gpt2", kShort), longer = text_of("gpt2", kLong);
  const auto tokens = static_cast<std::uint32_t>(kLong.size());
  const attention::Tile exact = tile_of(runs, longer, shorter, map_of(difference_of(Stage::Weights), tokens));
  for (const attention::Pooling pooling : {attention::Pooling::Max, attention::Pooling::Mean}) {
    const attention::Tile pooled = tile_of(runs, longer, shorter, map_of(difference_of(Stage::Weights), tokens, 4, pooling));
    for (std::uint32_t row = 0; row < pooled.request.tile_rows(); ++row) {
      for (std::uint32_t column = 0; column < pooled.request.tile_columns(); ++column) {
        float farthest = 0.0F;
        double sum = 0.0;
        int count = 0;
        for (std::uint32_t q = row * 4; q < std::min(row * 4 + 4, tokens); ++q) {
          for (std::uint32_t k = column * 4; k < std::min(column * 4 + 4, tokens); ++k) {
            if (!in_short(q) || !in_short(k)) continue;
            if (std::abs(exact.at(q, k)) > std::abs(farthest)) farthest = exact.at(q, k);
            sum += double{exact.at(q, k)};
            ++count;
          }
        }
        if (count == 0) {
          CHECK(std::isnan(pooled.at(row, column)));
          continue;
        }
        const double right = pooling == attention::Pooling::Max ? double{farthest} : sum / count;
        CHECK(double{pooled.at(row, column)} == doctest::Approx(right).epsilon(1e-6));
      }
    }
  }
}

TEST_CASE("heads change by the weights of tokens that both texts have") {
  TwoRuns runs;
  // A token behind the last one changes no weight before it.
  Ids longer = kShort;
  longer.push_back(3);
  const auto found = runs.find<ChangedHeads>(text_of("gpt2", longer), text_of("gpt2", kShort), ChangedHeadsQuestion());
  for (const ChangedHead& head : found.heads) CHECK(head.moved <= 1e-6);
}

TEST_CASE("patches put the counterpart's activations into the other run, in both directions") {
  TwoRuns runs;
  const State shorter = text_of("gpt2", kShort), longer = text_of("gpt2", kLong);
  constexpr std::uint32_t kToken = 3;
  const Alone short_run(shorter), long_run(longer);
  for (const bool into_other : {false, true}) {
    CAPTURE(into_other);
    const AnalysisQuery query =
        patching_query({.into_baseline = into_other}, model::BlockKind::EncoderSelf, 0, 6, kToken, {});
    const auto found = runs.find<PatchEffects>(shorter, longer, query);
    REQUIRE(found.is_complete());
    REQUIRE(found.columns == kShort.size());
    CHECK(found.target.logit == doctest::Approx((into_other ? long_run : short_run).logit(into_other ? 9 : 6, kToken)));
    CHECK(found.source.logit == doctest::Approx((into_other ? short_run : long_run).logit(into_other ? 6 : 9, kToken)));
    for (std::uint32_t layer = 0; layer < 2; ++layer) {
      for (const std::uint32_t token : {0U, 1U, 4U, 6U}) {
        CAPTURE(layer);
        CAPTURE(token);
        const double right =
            into_other ? Alone(longer, patch(layer, kInLong[token], short_run.state_of(layer, token))).logit(9, kToken)
                       : Alone(shorter, patch(layer, token, long_run.state_of(layer, kInLong[token]))).logit(6, kToken);
        CHECK(std::abs(found.at(layer, token)->logit - right) <= 1e-5);  // observed 1.2e-6
      }
    }
  }
}

TEST_CASE("a token without a counterpart isn't patched, and predicts nothing that could be compared") {
  TwoRuns runs;
  const State shorter = text_of("gpt2", kShort), longer = text_of("gpt2", kLong);
  const auto found =
      runs.find<PatchEffects>(longer, shorter, patching_query({}, model::BlockKind::EncoderSelf, 0, 9, 3, {}));
  for (std::uint32_t layer = 0; layer < 2; ++layer) {
    for (const std::uint32_t token : {1U, 5U, 6U}) CHECK(found.at(layer, token)->logit == found.target.logit);
    CHECK(found.at(layer, 9)->logit != found.target.logit);
  }
  const AnalysisQuery alone = patching_query({}, model::BlockKind::EncoderSelf, 0, 5, 3, {});
  const EngineResult result = runs.ask(longer, shorter, {alone});
  REQUIRE(result.analysed(alone));
  CHECK(result.analysed(alone)->error ==
        "there is no prediction to measure: the token has no counterpart in the other text");
  CHECK(result.in_baseline(0, 9) == 6);
  CHECK(result.in_baseline(0, 5) == std::nullopt);
  CHECK(result.from_baseline(0, 4) == 7);
}

TEST_CASE("paths go into the run whose tokens all have counterparts") {
  TwoRuns runs;
  const State shorter = text_of("gpt2", kShort), longer = text_of("gpt2", kLong);
  const HeadRef receiver{.block = kSecond, .head = 1};
  const auto query = [&](bool into_other, std::uint32_t position) {
    return path_patching_query({.into_baseline = into_other}, receiver, model::BlockKind::EncoderSelf, 0, position, 3, {});
  };
  // Patching into the longer text is one question asked from either side, but from the shorter one some tokens can't be
  // named.
  const AnalysisQuery refused = query(true, 6);
  const EngineResult result = runs.ask(shorter, longer, {refused});
  REQUIRE(result.analysed(refused));
  CHECK(result.analysed(refused)->error ==
        "the other text has tokens without a counterpart here, which would not be frozen: patch into this run");
  const auto into_longer = runs.find<PatchEffects>(longer, shorter, query(false, 9));
  const auto into_shorter = runs.find<PatchEffects>(shorter, longer, query(false, 6));
  const auto into_other = runs.find<PatchEffects>(longer, shorter, query(true, 9));
  REQUIRE(into_longer.is_complete());
  REQUIRE(into_shorter.patched.size() == into_other.patched.size());
  CHECK(into_shorter.target.logit == doctest::Approx(into_other.target.logit).epsilon(1e-6));
  for (std::size_t cell = 0; cell < into_shorter.patched.size(); ++cell) {
    CHECK(into_shorter.patched[cell]->logit == doctest::Approx(into_other.patched[cell]->logit).epsilon(1e-6));
  }
}

TEST_SUITE_END();

}  // namespace two_texts_gpu_test
